//! The nineteen velocities of D3Q19 and what happens within one cell.

/// The parts of a cell's fluid that go each way.
pub(super) type Populations = [f64; 19];

/// The direction that stays where it is.
const REST: usize = 0;

/// The moves of a step along x, y and z: rest, then six over a face and twelve over an edge, opposites in pairs.
pub(super) const VELOCITIES: [[isize; 3]; 19] = [
    [0, 0, 0],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 0],
    [0, -1, 0],
    [0, 0, 1],
    [0, 0, -1],
    [1, 1, 0],
    [-1, -1, 0],
    [1, -1, 0],
    [-1, 1, 0],
    [1, 0, 1],
    [-1, 0, -1],
    [1, 0, -1],
    [-1, 0, 1],
    [0, 1, 1],
    [0, -1, -1],
    [0, 1, -1],
    [0, -1, 1],
];

const FACE: f64 = 1.0 / 18.0;
const EDGE: f64 = 1.0 / 36.0;

/// The populations of fluid at rest, of density 1.
pub(super) const WEIGHTS: Populations = {
    let mut weights = [EDGE; 19];
    weights[REST] = 1.0 / 3.0;
    let mut face = 1;
    while face <= 6 {
        weights[face] = FACE;
        face += 1;
    }
    weights
};

/// The direction back.
pub(super) const fn opposite(direction: usize) -> usize {
    if direction == REST { REST } else { ((direction - 1) ^ 1) + 1 }
}

/// Density, and velocity in cells a step.
pub(super) fn density_and_velocity(populations: &Populations) -> (f64, [f64; 3]) {
    let mut density = 0.0;
    let mut momentum = [0.0; 3];
    for (population, velocity) in populations.iter().zip(VELOCITIES) {
        density += population;
        for (sum, component) in momentum.iter_mut().zip(velocity) {
            *sum += population * component as f64;
        }
    }
    (density, momentum.map(|component| component / density))
}

/// Does a collision: each population goes `rate` of the way to its equilibrium.
pub(super) fn relax(populations: &mut Populations, rate: f64) {
    let (density, [x, y, z]) = density_and_velocity(populations);
    let energy = 1.5 * (x * x + y * y + z * z);
    for ((population, velocity), weight) in populations.iter_mut().zip(VELOCITIES).zip(WEIGHTS) {
        let [cx, cy, cz] = velocity.map(|component| component as f64);
        let along = 3.0 * (cx * x + cy * y + cz * z);
        let equilibrium = weight * density * (1.0 + along + 0.5 * along * along - energy);
        *population += rate * (equilibrium - *population);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opposites_are_opposite_and_the_moments_are_those_of_a_gas() {
        for direction in 0..19 {
            assert_eq!(VELOCITIES[opposite(direction)], VELOCITIES[direction].map(|component| -component));
        }
        // Weights sum to 1; second moments are a third (the squared speed of sound) on the diagonal and 0 off it.
        assert!((WEIGHTS.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        for a in 0..3 {
            for b in 0..3 {
                let moment: f64 = VELOCITIES
                    .iter()
                    .zip(WEIGHTS)
                    .map(|(velocity, weight)| weight * (velocity[a] * velocity[b]) as f64)
                    .sum();
                let expected = if a == b { 1.0 / 3.0 } else { 0.0 };
                assert!((moment - expected).abs() < 1e-15, "{a} {b}: {moment}");
            }
        }
    }

    #[test]
    fn a_collision_keeps_density_and_momentum() {
        let mut populations = WEIGHTS;
        for (number, population) in populations.iter_mut().enumerate() {
            *population *= 1.0 + 0.01 * number as f64;
        }
        let (density, velocity) = density_and_velocity(&populations);
        let before = populations;
        relax(&mut populations, 1.7);
        assert_ne!(populations, before);
        let (density_after, velocity_after) = density_and_velocity(&populations);
        assert!((density - density_after).abs() < 1e-14);
        for axis in 0..3 {
            assert!((velocity[axis] - velocity_after[axis]).abs() < 1e-15);
        }
    }
}
