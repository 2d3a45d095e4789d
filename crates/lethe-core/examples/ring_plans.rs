fn main() {
    use lethe_core::schemes::ring::RingParameters;
    for log2 in [12u32, 14, 17, 20] {
        for share in [0.05, 0.125, 0.25] {
            let n = 1u64 << log2;
            let t = std::time::Instant::now();
            let p = RingParameters::for_capacity(n, 0, (n as f64 * share) as u64, 16);
            let traffic = p.traffic();
            println!(
                "{log2} {share}: {:.2} slots {:.2} requests; T 2^{} L {} A {} S {} inner {:?} leaf {:?} tail {:.1} bound {} {:?}",
                traffic.slots(),
                traffic.requests(),
                p.top.0,
                p.leaf_level.0,
                p.eviction_rate,
                p.reads,
                (p.inner.blocks, p.inner.slots),
                (p.leaf.blocks, p.leaf.slots),
                p.emergency_log2(),
                p.stash_bound,
                t.elapsed()
            );
        }
    }
}
