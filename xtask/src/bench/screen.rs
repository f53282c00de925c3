//! The chat on a terminal, from outside (section 13 of the contract, PERF-1 to PERF-9): the first frame, a key while nothing happens and while an
//! answer streams, bytes for a delta, idling, many deltas at once, memory after a long talk, a resize over many cells, a command that prints much.
//!
//! The terminal is a pseudo terminal of 100x30 that answers no question: what is measured must not depend on answers. It is typed into as people do,
//! a line first and Enter behind its echo: keys that come all at once are a paste there (CMP-2), which sends nothing. What is drawn has the time at
//! which it was read from the terminal; nobody polls for it, because there are two processors and one of them is the chat's.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use zori_testkit::pty::{Pty, Size};
use zori_testkit::rewrite::Rewrite;

use super::area::Bench;
use super::figure::{Amount, Bar, Figure, median, megabytes, ms};
use super::replies;
use super::run::{self, Used, in_ms};

const SIZE: Size = Size { rows: 30, cols: 100 };
/// How often the chat is opened.
const STARTS: usize = 11;
/// The deltas of the answer, and the time between two.
const DELTAS: usize = 300;
const PACE: Duration = Duration::from_millis(20);
/// How long nothing is done, to see what idling costs.
const IDLE: Duration = Duration::from_secs(5);
/// How long a finger takes from the last letter to Enter, and from one timed key to the next.
const FINGER: Duration = Duration::from_millis(50);
const NEXT_KEY: Duration = Duration::from_millis(37);
/// The keys that are timed: letters that are nowhere else on the screen.
const KEYS: &str = "абвгдежзийклмнопрстуфхцчшщъыьэюяАБВГДЕЖЗИЙКЛМНОП";

/// What ends a frame, and how long anything may take.
const FRAME_END: &str = "\x1b[?2026l";
const PATIENCE: Duration = Duration::from_secs(60);

/// The deltas that come at once (PERF-5), and how often that is measured.
const AT_ONCE: usize = 20_000;
const REPEATS: usize = 5;
/// The long talk (PERF-6): answers, and the size of each.
const ANSWERS: usize = 10;
const ANSWER: usize = 1 << 20;
/// The cells of the talk that is resized (PERF-8).
const CELLS: usize = 5_000;

/// Measures the chat.
pub fn screen(bench: &Bench) -> Result<Vec<Figure>> {
    let mut figures = streaming(bench)?;
    figures.push(at_once(bench)?);
    figures.push(long_talk(bench)?);
    figures.push(resize(bench, "chat: resize with 5,000 cells", &[], 40.0)?);
    figures.push(resize(bench, "panel: resize with 5,000 cells", &["tui"], 60.0)?);
    figures.push(much_output(bench)?);
    Ok(figures)
}

/// PERF-5: what 20,000 deltas at once cost the chat, beside what they cost a run without a screen.
fn at_once(bench: &Bench) -> Result<Figure> {
    let reply = || replies::text((0..AT_ONCE).map(|i| if i % 20 == 19 { "word.\n\n" } else { "word " }));
    let (mut chats, mut plains) = (Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        bench.server().begin(&[reply().into()]);
        let mut chat = open(bench)?;
        let before = cpu(chat.pid())?;
        let asked = ask(&mut chat)?;
        over(&chat, asked)?;
        chats.push(cpu(chat.pid())? - before);
        bench.server().begin(&[reply().into()]);
        let mut command = run::launched(
            bench.launcher(),
            &bench.note(),
            &with_model(bench, &["exec", "--no-save", "-p", "go"]),
        );
        let output = command.output()?;
        ensure!(output.status.success(), "the plain run failed: {}", String::from_utf8_lossy(&output.stderr));
        plains.push(Used::read(&bench.note())?.cpu);
    }
    let (chat, plain) = (median(&chats) * 1e3, median(&plains));
    Ok(Figure {
        name: "chat: processor for 20,000 deltas at once, beside `exec`",
        measured: ms(chat),
        floor: Some(ms(plain)),
        bar: Bar::Ratio(2.0),
    })
}

/// PERF-6: memory after ten megabytes were said.
fn long_talk(bench: &Bench) -> Result<Figure> {
    let line = "The quick brown fox jumps over the lazy dog, and nobody knows why it does so.\n\n";
    let mut chat = open(bench)?;
    for _ in 0..ANSWERS {
        let pieces = std::iter::repeat_n(line, ANSWER / line.len());
        bench.server().begin(&[replies::text(pieces).into()]);
        let asked = ask(&mut chat)?;
        over(&chat, asked)?;
    }
    let resident = status(chat.pid(), "VmRSS:")? * 1024.0;
    Ok(Figure {
        name: "chat: memory after a transcript of 10 MB",
        measured: megabytes(resident),
        floor: None,
        bar: Bar::Under(48.0),
    })
}

/// PERF-8: from a new size to a new frame, with 5,000 cells in the talk. The time for which a size has to stand is part of it.
fn resize(bench: &Bench, name: &'static str, layout: &[&str], most: f64) -> Result<Figure> {
    bench.server().begin(&[replies::blocks(CELLS).into()]);
    let mut chat = open_as(bench, layout)?;
    let asked = ask(&mut chat)?;
    over(&chat, asked)?;
    std::thread::sleep(Duration::from_millis(500));
    let mut took = Vec::new();
    for cols in [80, 100, 60, 120, 90, 100, 70] {
        let before = chat.drawn_len();
        let began = Instant::now();
        chat.resize(Size { rows: 30, cols });
        let frame = chat.seen(before, FRAME_END, PATIENCE).context("nothing is drawn after a resize")?;
        took.push(in_ms(frame.at - began));
        std::thread::sleep(NEXT_KEY);
    }
    Ok(Figure { name, measured: ms(median(&took)), floor: None, bar: Bar::Under(most) })
}

/// PERF-9: the longest time a key waits for its echo while a command prints ten megabytes.
fn much_output(bench: &Bench) -> Result<Figure> {
    let command = format!("cat {}; sleep 0.2", bench.large_file().display());
    let command = serde_json::json!({"command": command});
    bench.server().begin(&[replies::call(1, "bash", &command).into(), replies::text(["Done."]).into()]);
    let mut chat = open(bench)?;
    let asked = ask(&mut chat)?;
    let mut longest: f64 = 0.0;
    for key in KEYS.chars() {
        longest = longest.max(echo(&mut chat, key)?);
        std::thread::sleep(Duration::from_millis(10));
    }
    chat.seen(asked, "Done.", PATIENCE).context("the turn does not end")?;
    Ok(Figure {
        name: "chat: longest wait for an echo while a command prints 10 MB",
        measured: ms(longest),
        floor: None,
        bar: Bar::Under(8.0),
    })
}

/// Types a prompt and sends it; returns how much was drawn before.
fn ask(chat: &mut Pty) -> Result<usize> {
    echo(chat, 'g')?;
    std::thread::sleep(NEXT_KEY);
    echo(chat, 'o')?;
    std::thread::sleep(FINGER);
    let before = chat.drawn_len();
    chat.send("\r");
    Ok(before)
}

/// Waits until the turn is over that was asked for: the title gets its sign, and loses it then.
fn over(chat: &Pty, asked: usize) -> Result<()> {
    let next = |from, text| chat.seen(from, text, PATIENCE).context("the turn does not end");
    let mut from = next(asked, "\x1b]2;✶")?.end;
    loop {
        let title = next(from, "\x1b]2;")?.end;
        let end = next(title, "\x1b\\")?.end;
        let running = chat.seen(title, "✶", Duration::ZERO).is_some_and(|sign| sign.end <= end);
        if !running {
            return Ok(());
        }
        from = end;
    }
}

/// Presses a key; returns how many milliseconds passed until its echo was read.
fn echo(chat: &mut Pty, key: char) -> Result<f64> {
    let before = chat.drawn_len();
    let pressed = Instant::now();
    chat.send(&key.to_string());
    match chat.seen(before, &key.to_string(), PATIENCE) {
        Some(seen) => Ok(in_ms(seen.at - pressed)),
        None => bail!("`{key}` is not echoed:\n{}", chat.drawn()),
    }
}

/// Presses every key; returns how many milliseconds the echo of each took, from short to long.
fn echoes(chat: &mut Pty) -> Result<Vec<f64>> {
    let mut took = Vec::new();
    for key in KEYS.chars() {
        took.push(echo(chat, key)?);
        std::thread::sleep(NEXT_KEY);
    }
    took.sort_by(f64::total_cmp);
    Ok(took)
}

/// Returns the echo that so large a part of them was not slower than.
fn part_of(echoes: &[f64], part: f64) -> Amount {
    ms(echoes[((echoes.len() - 1) as f64 * part) as usize])
}

/// PERF-1 to PERF-4, PERF-7, and the first half of PERF-6.
fn streaming(bench: &Bench) -> Result<Vec<Figure>> {
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let began = Instant::now();
        let chat = start(bench, &[]);
        let frame = chat.seen(0, FRAME_END, PATIENCE).context("no frame is drawn")?;
        starts.push(in_ms(frame.at - began));
        drop(chat);
    }
    let mut chat = open(bench)?;
    std::thread::sleep(Duration::from_secs(1));
    let (switches, bytes) = (switches(chat.pid())?, chat.drawn_len());
    std::thread::sleep(IDLE);
    let idle_switches = self::switches(chat.pid())? - switches;
    let idle_bytes = chat.drawn_len() - bytes;
    let resident = status(chat.pid(), "VmRSS:")? * 1024.0;

    let idle = echoes(&mut chat)?;
    // The draft is put away, so that the screen is as it was.
    chat.send("\x03").wait_for("Put away");
    std::thread::sleep(FINGER);

    let words: Vec<String> = (0..DELTAS).map(|i| format!("word{i:03} ")).collect();
    bench.server().begin(&[replies::streamed(words.iter().map(String::as_str), PACE).into()]);
    let asked = ask(&mut chat)?;
    chat.seen(asked, "word010", PATIENCE).context("no answer comes")?;
    let (cpu, before, from) = (cpu(chat.pid())?, chat.drawn_len(), Instant::now());
    let streaming = echoes(&mut chat)?;
    let seconds = from.elapsed().as_secs_f64();
    let used = self::cpu(chat.pid())? - cpu;
    let written = (chat.drawn_len() - before) as f64;
    let deltas = seconds / PACE.as_secs_f64();
    let figure = |name, measured, limit| Figure { name, measured, floor: None, bar: Bar::Under(limit) };
    let count = |value: f64| Amount { value, unit: "times" };
    Ok(vec![
        figure("chat: first frame", ms(median(&starts)), 30.0),
        figure("chat: key to echo while idle, p50", part_of(&idle, 0.5), 2.0),
        figure("chat: key to echo while idle, p90", part_of(&idle, 0.9), 4.0),
        figure("chat: key to echo while idle, max", part_of(&idle, 1.0), 8.0),
        figure("chat: key to echo while streaming, p50", part_of(&streaming, 0.5), 2.0),
        figure("chat: key to echo while streaming, p90", part_of(&streaming, 0.9), 4.0),
        figure("chat: key to echo while streaming, max", part_of(&streaming, 1.0), 8.0),
        figure(
            "chat: bytes for a delta, keys included",
            Amount { value: written / deltas, unit: "bytes" },
            100.0,
        ),
        figure("chat: processor while streaming, percent", count(used / seconds * 100.0), 3.0),
        figure("chat: wake-ups in 5 idle seconds", count(idle_switches), 1.0),
        figure("chat: bytes in 5 idle seconds", Amount { value: idle_bytes as f64, unit: "bytes" }, 1.0),
        figure("chat: memory, idle", megabytes(resident), 20.0),
    ])
}

fn with_model(bench: &Bench, args: &[&str]) -> Command {
    let mut command = bench.zori(args);
    let url = format!("http://{}", bench.server().address);
    command.env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", "dummy");
    command
}

/// Opens a chat.
fn open(bench: &Bench) -> Result<Pty> {
    open_as(bench, &[])
}

/// Opens a chat in the layout that these words ask for.
fn open_as(bench: &Bench, layout: &[&str]) -> Result<Pty> {
    let chat = start(bench, layout);
    chat.seen(0, FRAME_END, PATIENCE).context("no frame is drawn")?;
    Ok(chat)
}

fn start(bench: &Bench, layout: &[&str]) -> Pty {
    let mut command = with_model(bench, &[layout, &["--no-save"]].concat());
    command.env("TERM", "xterm-256color").env("COLORTERM", "truecolor").env("LANG", "C.UTF-8");
    Pty::start(command, SIZE, Rewrite::new(&[]))
}

/// Returns a number of `/proc/PID/status`.
fn status(pid: u32, name: &str) -> Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).context("the kernel tells it")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// Returns how often the threads of a process have waited for something.
fn switches(pid: u32) -> Result<f64> {
    let mut sum = 0.0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(thread?.path().join("status"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        sum += line.context("the kernel tells it")?.trim().parse::<f64>()?;
    }
    Ok(sum)
}

/// Returns how many seconds of a processor the threads of a process have used.
fn cpu(pid: u32) -> Result<f64> {
    let mut sum = 0.0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        sum += text.split(' ').next().context("the kernel tells it")?.parse::<f64>()? / 1e9;
    }
    Ok(sum)
}
