//! Prints where the passes lie that harnesses are compiled with: what literals and calls of `memcmp` and the like say.

use libafl_cc::LLVMPasses;

fn main() {
    for pass in [LLVMPasses::AutoTokens, LLVMPasses::CmpLogRtn] {
        println!("{}", pass.path().display());
    }
}
