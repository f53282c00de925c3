//! What keys do, as one table, and what the user changes of it (KEY-1).

use crate::keys::Key;

macro_rules! actions {
    ($($name:ident $text:literal [$($key:literal),*] $about:literal;)*) => {
        /// Something a key does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action { $(#[doc = $about] $name),* }

        impl Action {
            /// Every action, in the order `/keys` lists them.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the name that `[ui.keymap]` knows.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Returns what it does.
            pub fn about(self) -> &'static str {
                match self { $(Self::$name => $about),* }
            }

            /// Returns the keys it has unless the user says otherwise; a chord has blanks between its keys.
            pub fn keys(self) -> &'static [&'static str] {
                match self { $(Self::$name => &[$($key),*]),* }
            }
        }
    };
}

actions! {
    Submit "submit" ["enter"] "Send; while a turn runs, queue";
    NewLine "new_line" ["alt+enter", "shift+enter", "ctrl+j"] "Start another line";
    Tab "tab" ["tab"] "Complete; send into the turn; go to the question";
    Steer "steer" ["ctrl+enter"] "Send into the running turn";
    Escape "escape" ["esc"] "Close what is open, else stop the turn";
    Interrupt "interrupt" ["ctrl+c"] "Stop, put the draft away, leave";
    EndOfInput "end_of_input" ["ctrl+d"] "Delete forward; on nothing, leave";
    NextMode "next_mode" ["shift+tab"] "Change the permission mode";
    Transcript "transcript" ["ctrl+o"] "Open all cells in the pager; unfold a paste";
    SearchHistory "search_history" ["ctrl+r"] "Search what was sent before";
    Editor "editor" ["ctrl+g", "ctrl+x ctrl+e"] "Edit the draft in $VISUAL or $EDITOR";
    PasteClipboard "paste_clipboard" ["ctrl+v"] "Paste an image or text from the clipboard";
    Repaint "repaint" ["ctrl+l"] "Draw the last cells again at this width";
    Suspend "suspend" ["ctrl+z"] "Suspend the program";
    PickModel "pick_model" ["alt+m"] "Choose a model";
    PickEffort "pick_effort" ["alt+e"] "Choose how much the model thinks";
    Help "help" ["f1"] "Show keys and commands";
    QueueUp "queue_up" ["alt+up"] "Move the newest queued message forward";
    QueueDown "queue_down" ["alt+down"] "Move the newest queued message back";
    Up "up" ["up", "ctrl+p"] "Up a row; at the edge, an older message";
    Down "down" ["down", "ctrl+n"] "Down a row; at the edge, a newer message";
    Left "left" ["left", "ctrl+b"] "Left";
    Right "right" ["right", "ctrl+f"] "Right";
    WordLeft "word_left" ["alt+b", "alt+left", "ctrl+left"] "A word to the left";
    WordRight "word_right" ["alt+f", "alt+right", "ctrl+right"] "A word to the right";
    LineStart "line_start" ["home", "ctrl+a"] "To the start of the line";
    LineEnd "line_end" ["end", "ctrl+e"] "To the end of the line";
    DeleteBack "delete_back" ["backspace", "ctrl+h", "shift+backspace"] "Delete to the left";
    DeleteForward "delete_forward" ["delete"] "Delete to the right";
    CutWordBack "cut_word_back" ["ctrl+w", "alt+backspace", "ctrl+backspace"] "Cut the word to the left";
    CutWordForward "cut_word_forward" ["alt+d"] "Cut the word to the right";
    CutToEnd "cut_to_end" ["ctrl+k"] "Cut to the end of the line";
    CutToStart "cut_to_start" ["ctrl+u"] "Cut to the start of the line";
    Yank "yank" ["ctrl+y"] "Put back what was cut";
    YankOlder "yank_older" ["alt+y"] "Put back an older cut instead";
    Undo "undo" ["ctrl+_", "ctrl+-"] "Undo the last change of the draft";
    PageUp "page_up" ["pageup"] "A page up in lists and in the pager";
    PageDown "page_down" ["pagedown"] "A page down in lists and in the pager";
}

/// Without these nothing could be sent, closed or stopped.
const NEEDED: &[Action] = &[Action::Submit, Action::Escape, Action::Interrupt];

/// Which keys do what.
#[derive(Clone, Debug)]
pub struct Keymap {
    bindings: Vec<(Vec<Key>, Action)>,
}

/// What a key means after those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Action(Action),
    /// It begins a chord.
    Prefix,
    Nothing,
}

impl Default for Keymap {
    fn default() -> Self {
        let bindings = Action::ALL.iter().flat_map(|action| {
            action.keys().iter().map(|keys| (parse(keys).expect("the table's keys are keys"), *action))
        });
        Self { bindings: bindings.collect() }
    }
}

impl Keymap {
    /// Gives an action other keys; returns what is wrong with them, if anything.
    pub fn bind(&mut self, action: &str, keys: &[&str]) -> Result<(), String> {
        let Some(action) = Action::ALL.iter().copied().find(|known| known.name() == action) else {
            return Err(format!("there is no action `{action}`; /keys lists them"));
        };
        let mut parsed = Vec::new();
        for text in keys {
            parsed
                .push(parse(text).ok_or_else(|| {
                    format!("`{text}` is no key; one is `ctrl+r`, a chord `ctrl+x ctrl+e`")
                })?);
        }
        self.bindings.retain(|(keys, bound)| *bound != action && !parsed.contains(keys));
        self.bindings.extend(parsed.into_iter().map(|keys| (keys, action)));
        Ok(())
    }

    /// Gives the actions that nobody can do without their own keys back, where no other key does them; returns those actions.
    pub fn give_back_needed(&mut self) -> Vec<Action> {
        let mut lost = Vec::new();
        // What one gets back may have been the only key of another one; their own keys are no one's else, so that this ends.
        while let Some(action) = NEEDED.iter().copied().find(|action| self.keys_of(*action).is_empty()) {
            self.bind(action.name(), action.keys()).expect("the table's keys are keys");
            lost.push(action);
        }
        lost
    }

    /// Returns the action that has no key but this one, if nobody can do without it.
    pub fn needs(&self, key: Key) -> Option<Action> {
        let Bound::Action(action) = self.find(&[key]) else { return None };
        let only = self.bindings.iter().filter(|(_, bound)| *bound == action).count() == 1;
        Some(action).filter(|action| only && NEEDED.contains(action))
    }

    /// Returns what the keys typed so far mean; the last one completes them.
    pub fn find(&self, typed: &[Key]) -> Bound {
        if let Some((_, action)) = self.bindings.iter().find(|(keys, _)| keys == typed) {
            return Bound::Action(*action);
        }
        match self.bindings.iter().any(|(keys, _)| keys.len() > typed.len() && keys.starts_with(typed)) {
            true => Bound::Prefix,
            false => Bound::Nothing,
        }
    }

    /// Returns the keys of an action, as people write them.
    pub fn keys_of(&self, action: Action) -> Vec<String> {
        let of = self.bindings.iter().filter(|(_, bound)| *bound == action);
        of.map(|(keys, _)| keys.iter().map(Key::to_string).collect::<Vec<_>>().join(" ")).collect()
    }
}

fn parse(text: &str) -> Option<Vec<Key>> {
    let keys: Option<Vec<_>> = text.split_whitespace().map(Key::parse).collect();
    keys.filter(|keys| !keys.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<Key> {
        parse(text).unwrap()
    }

    #[test]
    fn chords_and_changes() {
        let mut map = Keymap::default();
        assert_eq!(map.find(&keys("ctrl+x")), Bound::Prefix);
        assert_eq!(map.find(&keys("ctrl+x ctrl+e")), Bound::Action(Action::Editor));
        assert_eq!(map.find(&keys("a")), Bound::Nothing);
        map.bind("editor", &["f4"]).unwrap();
        assert_eq!(map.find(&keys("ctrl+x")), Bound::Nothing);
        assert_eq!(map.keys_of(Action::Editor), ["f4"]);
        assert_eq!(map.bind("edit", &[]).unwrap_err(), "there is no action `edit`; /keys lists them");
        assert!(map.bind("help", &["hyper+x"]).unwrap_err().starts_with("`hyper+x` is no key"));
    }

    #[test]
    fn what_is_needed_keeps_a_key() {
        let mut map = Keymap::default();
        assert_eq!(map.needs(keys("enter")[0]), Some(Action::Submit));
        assert_eq!(map.needs(keys("tab")[0]), None);
        map.bind("new_line", &["enter"]).unwrap();
        map.bind("interrupt", &[]).unwrap();
        assert_eq!(map.give_back_needed(), [Action::Submit, Action::Interrupt]);
        assert_eq!(map.find(&keys("enter")), Bound::Action(Action::Submit));
        // Two that change places lose nothing, in whatever order that is read.
        map.bind("new_line", &["enter"]).unwrap();
        map.bind("submit", &["ctrl+j"]).unwrap();
        assert!(map.give_back_needed().is_empty());
        assert_eq!(map.needs(keys("enter")[0]), None);
        assert_eq!(map.needs(keys("ctrl+j")[0]), Some(Action::Submit));
        // What one gets back was the only key of another one.
        let mut map = Keymap::default();
        map.bind("interrupt", &["enter"]).unwrap();
        assert_eq!(map.give_back_needed(), [Action::Submit, Action::Interrupt]);
        assert_eq!(map.keys_of(Action::Interrupt), ["ctrl+c"]);
    }

    #[test]
    fn no_key_has_two_actions() {
        let mut all: Vec<_> = Action::ALL.iter().flat_map(|action| action.keys()).collect();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
