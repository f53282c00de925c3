//! The arcade (UI-15, UI-53): two small games, played by themselves while somebody waits, or by that somebody. Plain data, a step at a time.

mod invaders;
mod pong;

use std::time::Duration;

use crate::keys::KeyCode;
use crate::row::{Role, Row, Span};

use invaders::Invaders;
use pong::Pong;

/// How long a frame lasts: twelve a second.
pub const FRAME: Duration = Duration::from_millis(83);
/// The field of a game that is played.
pub const FIELD: (u16, u16) = (46, 14);
/// How many lives there are.
const LIVES: u8 = 3;

/// Which game (`ui.waiting_game`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Invaders,
    Pong,
}

impl Kind {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Invaders => "invaders",
            Self::Pong => "pong",
        }
    }
}

/// Whether a game is played by somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Player {
    Person,
    /// Nobody: it plays by itself.
    Nobody,
}

/// A game under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Game {
    kind: Kind,
    player: Player,
    pub score: u32,
    pub lives: u8,
    pub level: u32,
    pub paused: bool,
    ticks: u32,
    board: Board,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Board {
    Invaders(Invaders),
    Pong(Pong),
}

/// What a step of a board came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Step {
    points: u32,
    lost: bool,
    cleared: bool,
}

/// What a key does in a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Move {
    Left,
    Right,
    Up,
    Down,
    Fire,
}

impl Game {
    /// Begins a game on a field of this size.
    pub fn new(kind: Kind, player: Player, width: u16, height: u16) -> Self {
        let (width, height) = (i32::from(width.max(12)), i32::from(height.max(5)));
        let board = match kind {
            Kind::Invaders => Board::Invaders(Invaders::new(width, height)),
            Kind::Pong => Board::Pong(Pong::new(width, height)),
        };
        Self { kind, player, score: 0, lives: LIVES, level: 1, paused: false, ticks: 0, board }
    }

    /// Returns which game it is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns whether it is lost.
    pub fn is_over(&self) -> bool {
        self.lives == 0
    }

    /// Goes on by a frame.
    pub fn step(&mut self) {
        if self.paused || self.is_over() {
            return;
        }
        self.ticks = self.ticks.wrapping_add(1);
        let auto = self.player == Player::Nobody;
        let step = match &mut self.board {
            Board::Invaders(board) => board.step(self.ticks, self.level, auto),
            Board::Pong(board) => board.step(self.ticks, self.level, auto),
        };
        self.score += step.points;
        if step.lost {
            match self.player {
                Player::Person => self.lives -= 1,
                Player::Nobody => {}
            }
        }
        if step.cleared {
            self.level += 1;
        }
    }

    /// Takes a key; returns whether it was one of the game's.
    pub fn key(&mut self, code: KeyCode) -> bool {
        let wanted = match code {
            KeyCode::Left => Move::Left,
            KeyCode::Right => Move::Right,
            KeyCode::Up => Move::Up,
            KeyCode::Down => Move::Down,
            KeyCode::Char(' ') if self.is_over() => {
                let (width, height) = self.size();
                *self = Self::new(self.kind, self.player, width, height);
                return true;
            }
            KeyCode::Char(' ') => Move::Fire,
            KeyCode::Char('p') => {
                self.paused = !self.paused;
                return true;
            }
            _ => return false,
        };
        if !self.paused && !self.is_over() {
            match &mut self.board {
                Board::Invaders(board) => board.play(wanted),
                Board::Pong(board) => board.play(wanted),
            }
        }
        true
    }

    fn size(&self) -> (u16, u16) {
        let (width, height) = match &self.board {
            Board::Invaders(board) => board.size(),
            Board::Pong(board) => board.size(),
        };
        (u16::try_from(width).unwrap_or(u16::MAX), u16::try_from(height).unwrap_or(u16::MAX))
    }

    /// Draws the field.
    pub fn rows(&self) -> Vec<Row> {
        let (width, height) = self.size();
        let mut field = vec![vec![' '; usize::from(width)]; usize::from(height)];
        let mut put = |x: i32, y: i32, sign: char| {
            let cell = usize::try_from(y).ok().and_then(|y| field.get_mut(y));
            if let Some(cell) = cell.and_then(|row| row.get_mut(usize::try_from(x).ok()?)) {
                *cell = sign;
            }
        };
        match &self.board {
            Board::Invaders(board) => board.draw(&mut put),
            Board::Pong(board) => board.draw(&mut put),
        }
        let row = |line: Vec<char>| {
            let text: String = line.into_iter().collect();
            Row::from(Span::new(text.trim_end().to_owned()).role(Role::Accent))
        };
        field.into_iter().map(row).collect()
    }

    /// Returns the score, the level and the lives in words.
    pub fn words(&self) -> String {
        let lives = "♥".repeat(self.lives.into());
        let more = match (self.is_over(), self.paused) {
            (true, _) => " · game over, space plays again",
            (false, true) => " · paused",
            (false, false) => "",
        };
        format!("score {} · lives {lives}{more}", self.score)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(game: &Game) -> String {
        game.rows().iter().map(Row::text).collect::<Vec<_>>().join("\n")
    }

    /// It never ends by itself, never leaves its field, and something moves.
    #[test]
    fn a_game_that_plays_by_itself() {
        for kind in [Kind::Invaders, Kind::Pong] {
            let mut game = Game::new(kind, Player::Nobody, 34, 7);
            let mut pictures = std::collections::HashSet::new();
            for _ in 0..5000 {
                game.step();
                let rows = game.rows();
                assert!(rows.len() == 7 && rows.iter().all(|row| row.width() <= 34));
                pictures.insert(picture(&game));
            }
            assert!(!game.is_over() && game.score > 0 && pictures.len() > 100, "{kind:?}");
        }
    }

    #[test]
    fn a_game_that_nobody_plays_is_lost() {
        for kind in [Kind::Invaders, Kind::Pong] {
            let mut game = Game::new(kind, Player::Person, 40, 12);
            for _ in 0..200_000 {
                game.step();
            }
            assert!(game.is_over() && game.words().contains("game over"), "{kind:?}");
            let before = picture(&game);
            game.step();
            assert_eq!(picture(&game), before);
            assert!(game.key(KeyCode::Char(' ')) && !game.is_over() && game.lives == LIVES);
        }
    }

    #[test]
    fn a_pause_is_one() {
        let mut game = Game::new(Kind::Invaders, Player::Person, 40, 12);
        assert!(game.key(KeyCode::Char('p')) && game.paused);
        let before = game.clone();
        game.step();
        game.key(KeyCode::Left);
        assert_eq!(game, before);
        assert!(!game.key(KeyCode::Char('x')), "other keys are not the game's");
    }
}
