//! `lbm`: fluid in a closed box whose lid slides, by the lattice Boltzmann method. Represents simulations.
//!
//! Nineteen velocities in three dimensions (D3Q19; Qian, d'Humières and Lallemand 1992), relaxation with one time
//! (BGK), walls half a cell outside by bounce-back (Ladd 1994). Two arrays, one read and one written in each step.

mod d3q19;

use crate::checksum::Checksum;
use d3q19::{Populations, VELOCITIES, WEIGHTS, opposite};

/// The amount of fluid, and the time that it flows.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The number of cells along x (the way the lid slides), y and z (from the bottom to the lid). A cell takes 152
    /// bytes in each of two arrays.
    pub cells: [usize; 3],
    /// The number of steps in time.
    pub steps: u32,
    /// The rate of relaxation towards equilibrium, a step: between 0 and 2, higher for thinner fluids.
    pub relaxation: f64,
    /// The speed of the lid, in cells a step: well below 0.5.
    pub lid_speed: f64,
}

/// The mass at the end and a sum over every population of every cell.
pub fn run(size: &Size) -> String {
    let mut cavity = Cavity::new(size);
    for _ in 0..size.steps {
        cavity.step();
    }
    let mut sum = Checksum::new();
    cavity.now.iter().flatten().for_each(|population| sum.add(population.to_bits()));
    format!("{:.6} {sum}", cavity.mass())
}

/// The box with its fluid.
struct Cavity {
    cells: [usize; 3],
    relaxation: f64,
    lid_speed: f64,
    now: Vec<Populations>,
    next: Vec<Populations>,
    /// The places between a cell and the neighbour that a velocity leads to.
    strides: [isize; 19],
}

impl Cavity {
    /// Fluid at rest, of density 1.
    fn new(size: &Size) -> Self {
        let [x, y, z] = size.cells;
        let stride = |[cx, cy, cz]: [isize; 3]| cx + x as isize * (cy + y as isize * cz);
        Cavity {
            cells: size.cells,
            relaxation: size.relaxation,
            lid_speed: size.lid_speed,
            now: vec![WEIGHTS; x * y * z],
            next: vec![[0.0; 19]; x * y * z],
            strides: VELOCITIES.map(stride),
        }
    }

    fn step(&mut self) {
        let [width, depth, height] = self.cells;
        let mut cell = 0;
        for z in 0..height {
            for y in 0..depth {
                for x in 0..width {
                    let mut populations = self.arriving([x, y, z], cell);
                    d3q19::relax(&mut populations, self.relaxation);
                    self.next[cell] = populations;
                    cell += 1;
                }
            }
        }
        std::mem::swap(&mut self.now, &mut self.next);
    }

    /// The populations that stream into a cell: from its neighbours, and back from the walls.
    fn arriving(&self, place: [usize; 3], cell: usize) -> Populations {
        let mut arriving = [0.0; 19];
        if (0..3).all(|axis| place[axis] > 0 && place[axis] + 1 < self.cells[axis]) {
            for (direction, population) in arriving.iter_mut().enumerate() {
                *population = self.now[cell.wrapping_add_signed(-self.strides[direction])][direction];
            }
            return arriving;
        }
        for (direction, population) in arriving.iter_mut().enumerate() {
            let velocity = VELOCITIES[direction];
            let inside = (0..3).all(|axis| {
                place[axis].checked_add_signed(-velocity[axis]).is_some_and(|from| from < self.cells[axis])
            });
            *population = if inside {
                self.now[cell.wrapping_add_signed(-self.strides[direction])][direction]
            } else {
                let from_lid = place[2] + 1 == self.cells[2] && velocity[2] == -1;
                let push = if from_lid { 6.0 * WEIGHTS[direction] * self.lid_speed } else { 0.0 };
                self.now[cell][opposite(direction)] + push * velocity[0] as f64
            };
        }
        arriving
    }

    /// Returns the sum of all populations: the number of cells, for fluid of density 1.
    fn mass(&self) -> f64 {
        self.now.iter().map(|populations| populations.iter().sum::<f64>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::small;

    fn after(size: Size) -> Cavity {
        let mut cavity = Cavity::new(&size);
        (0..size.steps).for_each(|_| cavity.step());
        cavity
    }

    fn speed_along_x(cavity: &Cavity, [x, y, z]: [usize; 3]) -> f64 {
        let [width, depth, _] = cavity.cells;
        d3q19::density_and_velocity(&cavity.now[x + width * (y + depth * z)]).1[0]
    }

    #[test]
    fn mass_is_conserved() {
        let cavity = after(small::LBM.size);
        let cells: usize = cavity.cells.iter().product();
        let error = (cavity.mass() / cells as f64 - 1.0).abs();
        assert!(error < 1e-12, "off by {error}");
    }

    #[test]
    fn fluid_below_a_resting_lid_stays_at_rest() {
        let cavity = after(Size { lid_speed: 0.0, ..small::LBM.size });
        for populations in &cavity.now {
            for (population, weight) in populations.iter().zip(WEIGHTS) {
                assert!((population - weight).abs() < 1e-14, "{population} and not {weight}");
            }
        }
    }

    #[test]
    fn fluid_follows_the_lid_and_flows_back_below() {
        let size = Size { cells: [12, 11, 12], steps: 400, ..small::LBM.size };
        let cavity = after(size);
        let top = speed_along_x(&cavity, [6, 5, 11]);
        let bottom = speed_along_x(&cavity, [6, 5, 3]);
        assert!(top > 0.5 * size.lid_speed && top < size.lid_speed, "{top} below the lid");
        assert!(bottom < -0.01 * size.lid_speed, "{bottom} below the middle");
        // Both sides of the lid's way are equal.
        let sides = [[4, 2, 7], [4, 8, 7]].map(|place| speed_along_x(&cavity, place));
        assert!((sides[0] - sides[1]).abs() < 1e-12, "{sides:?}");
    }

    #[test]
    fn walls_apart_a_disturbance_spreads_the_same_way_in_every_direction() {
        let mut cavity = Cavity::new(&Size { cells: [9; 3], steps: 2, relaxation: 1.2, lid_speed: 0.0 });
        let place = |[x, y, z]: [usize; 3]| x + 9 * (y + 9 * z);
        cavity.now[place([4; 3])].iter_mut().for_each(|population| *population *= 1.1);
        (0..2).for_each(|_| cavity.step());
        let density = |at| d3q19::density_and_velocity(&cavity.now[place(at)]).0;
        let faces = [[2, 4, 4], [6, 4, 4], [4, 2, 4], [4, 6, 4], [4, 4, 2], [4, 4, 6]].map(density);
        assert!((faces[0] - 1.0).abs() > 1e-5, "{faces:?}");
        assert!(faces.iter().all(|face| (face - faces[0]).abs() < 1e-13), "{faces:?}");
    }
}
