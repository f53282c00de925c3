//! Invaders: they come nearer row by row, one shot and one bomb at a time.

use super::{Move, Step};

/// The field: who comes, who stands below, and what flies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Invaders {
    width: i32,
    height: i32,
    aliens: Vec<(i32, i32)>,
    direction: i32,
    ship: i32,
    shot: Option<(i32, i32)>,
    bomb: Option<(i32, i32)>,
}

impl Invaders {
    pub(super) fn new(width: i32, height: i32) -> Self {
        let ship = width / 2;
        let mut board =
            Self { width, height, aliens: Vec::new(), direction: 1, ship, shot: None, bomb: None };
        board.wave();
        board
    }

    pub(super) fn size(&self) -> (i32, i32) {
        (self.width, self.height)
    }

    fn wave(&mut self) {
        let rows = (self.height / 4).clamp(1, 3);
        let columns = ((self.width - 6) / 4).clamp(1, 8);
        self.aliens =
            (0..rows).flat_map(|row| (0..columns).map(move |at| (2 + at * 4 + row % 2 * 2, row))).collect();
        (self.direction, self.shot, self.bomb) = (1, None, None);
    }

    pub(super) fn play(&mut self, wanted: Move) {
        match wanted {
            Move::Left => self.ship = (self.ship - 2).max(1),
            Move::Right => self.ship = (self.ship + 2).min(self.width - 2),
            Move::Fire | Move::Up => {
                self.shot.get_or_insert((self.ship, self.height - 2));
            }
            Move::Down => {}
        }
    }

    pub(super) fn step(&mut self, ticks: u32, level: u32, auto: bool) -> Step {
        let mut step = Step::default();
        if auto {
            self.play_alone(ticks);
        }
        if ticks.is_multiple_of(9u32.saturating_sub(level).max(3)) {
            self.advance();
        }
        // The shot flies two rows a frame, and hits what is in either.
        for _ in 0..2 {
            self.shot = self.shot.map(|(x, y)| (x, y - 1)).filter(|(_, y)| *y >= 0);
            if let Some((x, y)) = self.shot
                && let Some(hit) = self.aliens.iter().position(|(ax, ay)| *ay == y && (ax - x).abs() <= 1)
            {
                self.aliens.swap_remove(hit);
                self.shot = None;
                step.points += 10;
            }
        }
        if ticks.is_multiple_of(2) {
            self.bomb = self.bomb.map(|(x, y)| (x, y + 1)).filter(|(_, y)| *y < self.height);
        }
        if self.bomb.is_none() && ticks.is_multiple_of(17) {
            let lowest = self.aliens.iter().max_by_key(|(x, y)| (*y, -(x - self.ship).abs()));
            self.bomb = lowest.map(|(x, y)| (*x, y + 1));
        }
        let struck = self.bomb.is_some_and(|(x, y)| y >= self.height - 1 && (x - self.ship).abs() <= 1);
        let landed = self.aliens.iter().any(|(_, y)| *y >= self.height - 1);
        if struck || landed {
            step.lost = true;
            self.bomb = None;
            if landed {
                self.wave();
            }
        }
        if self.aliens.is_empty() {
            step.cleared = true;
            step.points += 50;
            self.wave();
        }
        step
    }

    fn advance(&mut self) {
        let next = |x: i32| x + self.direction;
        let turns = self.aliens.iter().any(|(x, _)| next(*x) < 0 || next(*x) >= self.width);
        for (x, y) in &mut self.aliens {
            match turns {
                true => *y += 1,
                false => *x += self.direction,
            }
        }
        if turns {
            self.direction = -self.direction;
        }
    }

    fn play_alone(&mut self, ticks: u32) {
        let target = self.aliens.iter().min_by_key(|(x, y)| ((x - self.ship).abs(), -y)).map(|(x, _)| *x);
        if let Some(x) = target.filter(|_| ticks.is_multiple_of(2)) {
            self.ship = (self.ship + (x + self.direction * 2 - self.ship).signum()).clamp(1, self.width - 2);
            if (x - self.ship).abs() <= 3 {
                self.play(Move::Fire);
            }
        }
    }

    pub(super) fn draw(&self, put: &mut impl FnMut(i32, i32, char)) {
        for (x, y) in &self.aliens {
            put(*x, *y, '▲');
        }
        if let Some((x, y)) = self.shot {
            put(x, y, '╻');
        }
        if let Some((x, y)) = self.bomb {
            put(x, y, '▼');
        }
        for (at, sign) in ['▟', '█', '▙'].into_iter().enumerate() {
            put(self.ship - 1 + at as i32, self.height - 1, sign);
        }
    }
}
