//! Redirects (NET-11): followed within the origin, told otherwise; what was sent to one origin is not for another.

use zori_testkit::reply::Reply;
use zori_testkit::server::{ModelServer, refused_url};

use super::apis::{APIS, Api};
use super::{each, play};

const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

fn moved(status: u16, to: &str) -> Reply {
    Reply::bytes(status, "text/plain", "").header("location", to)
}

fn cases() -> Vec<(&'static Api, u16)> {
    APIS.iter().flat_map(|api| STATUSES.map(|status| (api, status))).collect()
}

/// Only 307 and 308 keep the method and the body, as browsers have it.
#[test]
fn within_the_origin() {
    each(&cases(), |(api, status)| {
        let played = play(api, vec![moved(*status, "/elsewhere?x=1"), api.last.reply()], "0", "");
        played.sound(api.name);
        assert_eq!(played.seen(), (api.last.text(), 0, 2), "{} {status}: {}", api.name, played.output);
        let (first, second) = (played.server.request(0), played.server.request(1));
        assert_eq!(second.path, "/elsewhere?x=1");
        let kept = matches!(status, 307 | 308);
        assert_eq!(
            (second.method == "POST", second.body == first.body),
            (kept, kept),
            "{} {status}",
            api.name
        );
    });
}

#[test]
fn to_somebody_else() {
    each(&cases(), |(api, status)| {
        let other = ModelServer::start([api.last.reply()]);
        let to = format!("{}/v1?token=1", other.url());
        let played = play(api, vec![moved(*status, &to)], "4", "");
        played.sound(api.name);
        assert_eq!(
            played.output.to_string(),
            "------- stderr -------\nWarning: Session 's' does not exist yet; starting it\n\
             Error [http_status]: refused redirect to http://127.0.0.1:$PORT/v1\n[exit status: 1]",
            "{} {status}",
            api.name
        );
        assert_eq!((played.server.count(), other.count()), (1, 0));
    });
}

#[test]
fn in_a_circle() {
    each(&cases(), |(api, status)| {
        let played = play(api, vec![moved(*status, "/again"); 20], "4", "");
        played.sound(api.name);
        assert_eq!(played.seen(), (String::new(), 1, 11), "{} {status}: {}", api.name, played.output);
        assert!(played.output.stderr().contains("refused redirect to http://127.0.0.1:$PORT/again\n"));
    });
}

/// Where there is nothing to follow, the target is named.
#[test]
fn to_what_is_no_address() {
    let closed = refused_url().replace("http:", "https:");
    let targets = [
        ("file:///etc/passwd", "refused redirect to a `file:` address"),
        ("data:text/plain,x", "refused redirect to a `data:` address"),
        (closed.as_str(), "refused redirect to https://127.0.0.1:$PORT/"),
        ("http://[", "HTTP 307"),
    ];
    each(&targets, |(target, told)| {
        let api = &APIS[0];
        let played = play(api, vec![moved(307, target)], "4", "");
        played.sound(target);
        assert_eq!(played.seen(), (String::new(), 1, 1), "{target}: {}", played.output);
        let stderr = played.output.stderr();
        assert!(stderr.contains(&format!("Error [http_status]: {told}\n")), "{target}: {stderr}");
    });
    let played = play(&APIS[0], vec![Reply::bytes(302, "text/plain", "")], "4", "");
    assert_eq!(played.seen(), (String::new(), 1, 1), "{}", played.output);
}
