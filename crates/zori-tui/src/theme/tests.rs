use super::*;

fn sgr(theme: &str, depth: Depth, style: Style) -> String {
    let mut out = String::new();
    Paint { theme: Theme::named(theme).expect("a theme"), depth }.sgr(style, &mut out);
    out.replace('\x1b', "ESC")
}

fn role(role: Role) -> Style {
    Style { role, ..Style::default() }
}

fn ground(ground: Ground) -> Style {
    Style { ground, ..Style::default() }
}

/// THM-2: the foreground 6.9:1, each role 4.5:1, comments 5:1, on every ground that text stands on.
#[test]
fn every_role_can_be_read() {
    for (name, palette) in THEMES {
        for ground in [palette.background, palette.surface, palette.panel] {
            let contrast = |role| palette.role(role).contrast(ground);
            assert!(contrast(Role::Text) >= 6.9, "{name}: {:.2}", contrast(Role::Text));
            for role in
                [Role::Primary, Role::Secondary, Role::Warning, Role::Error, Role::Success, Role::Accent]
            {
                assert!(contrast(role) >= 4.5, "{name} {role:?}: {:.2}", contrast(role));
            }
        }
        let muted = palette.role(Role::Muted).contrast(palette.background);
        assert!(muted >= 5.0, "{name}: comments {muted:.2}");
        for kind in [Ground::Added, Ground::AddedWord, Ground::Removed, Ground::RemovedWord] {
            let ground = palette.ground(kind).expect("a ground");
            let contrast = palette.foreground.contrast(ground);
            assert!(contrast >= 4.5, "{name} {kind:?}: {contrast:.2}");
        }
        assert_eq!(palette.light, palette.background.luminance() > 0.5, "{name}");
    }
}

#[test]
fn a_style_at_each_depth() {
    let primary = role(Role::Primary);
    assert_eq!(sgr("terminal", Depth::True, Style::default()), "ESC[0m");
    assert_eq!(sgr("terminal", Depth::True, primary), "ESC[0;94m");
    assert_eq!(sgr("terminal", Depth::True, role(Role::Muted)), "ESC[0;2m");
    assert_eq!(sgr("terminal", Depth::None, primary), "ESC[0m");
    assert_eq!(sgr("terminal", Depth::None, role(Role::Error)), "ESC[0;1m");
    assert_eq!(sgr("Studio Dark", Depth::True, primary), "ESC[0;38;2;122;184;255m");
    assert_eq!(sgr("Studio Dark", Depth::Indexed256, primary), "ESC[0;38;5;111m");
    assert_eq!(sgr("Studio Dark", Depth::Ansi16, primary), "ESC[0;94m");
    assert_eq!(sgr("Studio Light", Depth::Ansi16, primary), "ESC[0;34m");
    assert_eq!(sgr("Studio Dark", Depth::None, Style { bold: true, ..primary }), "ESC[0;1m");
}

/// THM-3: what is told by a ground is told by something else where there is none.
#[test]
fn changes_at_each_depth() {
    assert_eq!(
        sgr("Studio Dark", Depth::True, ground(Ground::Added)),
        "ESC[0;38;2;227;230;235;48;2;36;54;44m"
    );
    assert_eq!(sgr("terminal", Depth::True, ground(Ground::Added)), "ESC[0;48;2;14;36;19m");
    assert_eq!(sgr("terminal", Depth::Ansi16, ground(Ground::Added)), "ESC[0;32m");
    assert_eq!(sgr("terminal", Depth::Ansi16, ground(Ground::RemovedWord)), "ESC[0;1;4;31m");
    assert_eq!(sgr("terminal", Depth::None, ground(Ground::RemovedWord)), "ESC[0;1;4m");
    assert_eq!(sgr("terminal", Depth::None, ground(Ground::Chosen)), "ESC[0;7m");
}

#[test]
fn themes_are_found_by_name_alias_and_slug() {
    let found = |name| Theme::named(name).map(|theme| theme.name);
    assert_eq!(found("Studio Dark"), Some("Studio Dark".to_owned()));
    assert_eq!(found("mac_aqua"), Some("Mac Aqua".to_owned()));
    assert_eq!(found("hacker_green"), Some("MS DOS XT PC".to_owned()));
    assert_eq!(found("default"), Some("Studio Dark".to_owned()));
    assert_eq!(found("Terminal"), Some("terminal".to_owned()));
    assert_eq!(found("nobody"), None);
    assert_eq!(Theme::names().count(), 13);
}

#[test]
fn a_theme_file_is_complete_or_refused() {
    let colours = &COLOUR_NAMES[..11];
    let whole: Vec<(&str, &str)> = colours.iter().map(|key| (*key, "#102030")).collect();
    let theme = Theme::from_file("mine", whole.clone()).expect("a theme");
    assert!(
        matches!(theme.colours, Colours::Own(palette) if !palette.light && palette.boost == Rgb(16, 32, 48))
    );
    let error = |entries: &[(&str, &str)]| {
        Theme::from_file("mine", entries.iter().copied()).expect_err("no theme").to_string()
    };
    assert_eq!(error(&whole[2..]), "theme `mine`: primary, secondary missing");
    assert_eq!(
        error(&[("primary", "blue")]),
        "theme `mine`: `primary` is `blue`; a colour is six hexadecimal digits, such as `7AB8FF`"
    );
    assert_eq!(error(&[("dark", "yes")]), "theme `mine`: `dark` is `yes`; it must be `true` or `false`");
    assert_eq!(
        error(&[("primry", "102030")]),
        "theme `mine`: `primry` is no colour of a theme; there are primary, secondary, warning, error, success, accent, \
         foreground, background, surface, panel, boost, dark"
    );
}
