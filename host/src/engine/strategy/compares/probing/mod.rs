//! Executes inputs with a goal, and tells what becomes of it.
//!
//! A task has one [`Probe`](probe::Probe), and each solver gets it, with the [`Problem`](probe::Problem) that is to be
//! solved: it attempts candidates, and ends the task when all is spent. What a check on the way wants written anew is a
//! [`Guard`](repair::Guard) of the probe's, so most solvers know nothing of it. [`dependence`] asks the probe before
//! they do: it finds the problem's places, and the guards, also those that are [`combined`] with what they check. A
//! [`Way`](way::Way) says what keeps a candidate that no longer gets to its goal from it.

mod combined;
pub(super) mod dependence;
pub(super) mod probe;
pub(super) mod repair;
pub(super) mod way;
