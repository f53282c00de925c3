//! The wrappers that their option grammar describes completely.

use crate::programs::options::OptionGrammar;

pub(super) struct Wrapper {
    pub(super) names: &'static [&'static str],
    pub(super) grammar: OptionGrammar,
    /// How many operands stand in front of the command.
    pub(super) skip: usize,
    /// Whether it changes who or where the command runs (SH-6).
    pub(super) privileged: bool,
    /// Options whose value is a text for a shell.
    pub(super) text: &'static [&'static str],
    /// Options that do more than wrap.
    pub(super) more: &'static [&'static str],
    /// Whether it watches, changes or attaches to what runs: never approved for what it starts alone.
    pub(super) observes: bool,
}

const fn wrapper(names: &'static [&'static str], short: &'static str, long: &'static str) -> Wrapper {
    let grammar = OptionGrammar { short, long, stops_at_operand: true };
    Wrapper { names, grammar, skip: 0, privileged: false, text: &[], more: &[], observes: false }
}

const fn privileged(names: &'static [&'static str], short: &'static str, long: &'static str) -> Wrapper {
    Wrapper { privileged: true, ..wrapper(names, short, long) }
}

/// A privileged wrapper whose options may stand behind its operands.
const fn anywhere(names: &'static [&'static str], short: &'static str, long: &'static str) -> Wrapper {
    let grammar = OptionGrammar { short, long, stops_at_operand: false };
    Wrapper { grammar, ..privileged(names, short, long) }
}

/// The list. `wrappers.rs` reads those that need more than this.
pub(super) const WRAPPERS: &[Wrapper] = &[
    wrapper(
        &["nohup", "setarch", "linux32", "linux64", "i386", "x86_64"],
        "BFILR3STXZv",
        "uname-2.6 addr-no-randomize 32bit",
    ),
    wrapper(&["builtin"], "", ""),
    wrapper(&["nice"], "n:0123456789", "adjustment= help version"),
    wrapper(&["ionice"], "c:n:p:P:u:t", "class= classdata= pid= pgid= ignore uid="),
    Wrapper {
        skip: 1,
        ..wrapper(
            &["chrt"],
            "abdfiomprRT:P:D:v",
            "all-tasks batch deadline fifo idle max other pid rr reset-on-fork sched-runtime= sched-period= \
             sched-deadline= verbose",
        )
    },
    Wrapper { skip: 1, ..wrapper(&["taskset"], "acp", "all-tasks pid cpu-list") },
    Wrapper {
        skip: 1,
        ..wrapper(
            &["timeout"],
            "k:s:vf",
            "preserve-status foreground kill-after= signal= verbose help version",
        )
    },
    wrapper(&["stdbuf"], "i:o:e:", "input= output= error= help version"),
    wrapper(&["setsid"], "cfw", "ctty fork wait help version"),
    wrapper(&["unbuffer"], "p", ""),
    wrapper(&["command", "exec"], "pcla:", ""),
    Wrapper {
        more: &["o", "output", "a", "append"],
        ..wrapper(&["time"], "f:o:apvV", "format= output= append portability verbose quiet help version")
    },
    Wrapper {
        more: &["o", "output"],
        observes: true,
        ..wrapper(
            &["strace"],
            "a:b:cCdDe:fFhiI:kno:O:p:P:qrs:S:tTu:U:vVwxX:yYzZE:",
            "output= trace= env= attach= user= follow-forks summary-only",
        )
    },
    Wrapper {
        skip: 1,
        observes: true,
        ..wrapper(
            &["perf"],
            "e:o:p:t:C:F:c:r:j:D:G:g:S:T:BadfinqsvVx:",
            "event= output= pid= tid= cpu= freq= count= repeat= no-inherit call-graph=",
        )
    },
    Wrapper {
        more: &["o", "output", "F", "l"],
        observes: true,
        ..wrapper(&["ltrace"], "a:A:bcCD:e:fF:hiLn:o:p:rs:StTu:l:x:w:V", "output=")
    },
    Wrapper {
        observes: true,
        ..wrapper(
            &[
                "catchsegv",
                "proxychains",
                "proxychains4",
                "tsocks",
                "torsocks",
                "caffeinate",
                "chronic",
                "faketime",
                "xvfb-run",
                "dbus-run-session",
                "rlwrap",
                "winpty",
                "systemd-inhibit",
                "firejail",
                "cgexec",
                "numactl",
                "valgrind",
            ],
            "af:g:n:s:dimut:qC:N:m:p:",
            "",
        )
    },
    privileged(
        &["sudo"],
        "AbBC:c:D:Eeg:HhiKklNnPp:R:r:SsT:t:U:u:VvA",
        "askpass background bell close-from= chdir= preserve-env=? edit group= set-home help host= login \
         remove-timestamp reset-timestamp list non-interactive preserve-groups prompt= chroot= role= stdin \
         shell type= command-timeout= other-user= user= version validate",
    ),
    privileged(&["doas"], "a:C:Lnsu:", ""),
    Wrapper {
        text: &["c", "command", "session-command"],
        ..anywhere(
            &["su", "runuser"],
            "c:fg:G:lmps:u:w:PT",
            "command= session-command= fast group= supp-group= login preserve-environment pty shell= user= \
             whitelist-environment= help version",
        )
    },
    privileged(&["pkexec"], "u:", "user= disable-internal-agent keep-cwd"),
    privileged(
        &["setpriv"],
        "hV",
        "clear-groups groups= inh-caps= ambient-caps= init-groups keep-groups list-caps no-new-privs nnp rgid= \
         ruid= regid= reuid= egid= euid= bounding-set= securebits= pdeathsig= selinux-label= apparmor-profile= \
         reset-env dump",
    ),
    privileged(
        &["unshare"],
        "C::fim::n::p::rR:S:G:u::U::T::w:cW:",
        "fork mount=? uts=? ipc=? net=? pid=? user=? cgroup=? time=? map-root-user map-current-user map-auto \
         map-user= map-group= map-users= map-groups= keep-caps mount-proc=? propagation= setgroups= root= wd= \
         setuid= setgid= kill-child=?",
    ),
    privileged(
        &["nsenter"],
        "aC::eFG:i::m::n::N:p::r::S:t:T::u::U::vVw::W:Z",
        "all target= mount=? uts=? ipc=? net=? pid=? cgroup=? user=? time=? setuid= setgid= \
         preserve-credentials root=? wd=? wdns= no-fork follow-context",
    ),
    Wrapper { skip: 1, ..privileged(&["chroot"], "", "groups= userspec= skip-chdir help version") },
    privileged(
        &[
            "fakeroot",
            "bwrap",
            "proot",
            "systemd-run",
            "ssh-agent",
            "flatpak-spawn",
            "start-stop-daemon",
            "at",
            "batch",
        ],
        "",
        "",
    ),
];
