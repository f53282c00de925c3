//! Pong: a ball between two bats, the left one is the person's.

use super::{Move, Step};

/// How tall a bat is.
const BAT: i32 = 3;

/// The field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pong {
    width: i32,
    height: i32,
    ball: (i32, i32),
    flies: (i32, i32),
    left: i32,
    right: i32,
    /// How often the ball came back.
    rallies: u32,
}

impl Pong {
    pub(super) fn new(width: i32, height: i32) -> Self {
        let middle = (height - BAT) / 2;
        Self {
            width,
            height,
            ball: (width / 2, height / 2),
            flies: (1, 1),
            left: middle,
            right: middle,
            rallies: 0,
        }
    }

    pub(super) fn size(&self) -> (i32, i32) {
        (self.width, self.height)
    }

    pub(super) fn play(&mut self, wanted: Move) {
        let by = match wanted {
            Move::Up | Move::Left => -1,
            Move::Down | Move::Right => 1,
            Move::Fire => 0,
        };
        self.left = (self.left + by).clamp(0, self.height - BAT);
    }

    pub(super) fn step(&mut self, ticks: u32, level: u32, auto: bool) -> Step {
        let mut step = Step::default();
        let after = |bat: i32, y: i32| (y - bat - BAT / 2).signum();
        if auto {
            self.left = (self.left + after(self.left, self.ball.1)).clamp(0, self.height - BAT);
        }
        // The other one is a little slow, so that it can be beaten.
        if !ticks.is_multiple_of(5) {
            self.right = (self.right + after(self.right, self.ball.1)).clamp(0, self.height - BAT);
        }
        for _ in 0..1 + level.min(3) / 3 {
            self.fly(&mut step);
        }
        step
    }

    fn fly(&mut self, step: &mut Step) {
        let (mut x, mut y) = (self.ball.0 + self.flies.0, self.ball.1 + self.flies.1);
        if y < 0 || y >= self.height {
            self.flies.1 = -self.flies.1;
            y = y.clamp(0, self.height - 1);
        }
        let met = |bat: i32| (bat..bat + BAT).contains(&y);
        if x <= 1 && self.flies.0 < 0 {
            match met(self.left) {
                true => {
                    (self.flies.0, x) = (1, 1);
                    step.points += 10;
                    self.rallies += 1;
                    step.cleared = self.rallies.is_multiple_of(8);
                }
                false => step.lost = true,
            }
        } else if x >= self.width - 2 && self.flies.0 > 0 {
            match met(self.right) {
                true => (self.flies.0, x) = (-1, self.width - 2),
                false => step.points += 50,
            }
        }
        self.ball = (x, y);
        if step.lost || x >= self.width - 1 || x < 0 {
            // The next one is served from the middle, to whoever lost it.
            self.ball = (self.width / 2, self.height / 2);
            self.flies = (if step.lost { 1 } else { -1 }, -self.flies.1);
        }
    }

    pub(super) fn draw(&self, put: &mut impl FnMut(i32, i32, char)) {
        for row in 0..BAT {
            put(0, self.left + row, '█');
            put(self.width - 1, self.right + row, '█');
        }
        for row in (0..self.height).step_by(2) {
            put(self.width / 2, row, '╻');
        }
        put(self.ball.0, self.ball.1, '●');
    }
}
