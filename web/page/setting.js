// What runs and how it is drawn, as the address says it: a link opens the same picture.

export const CAPACITIES = [8, 16, 32, 64, 128, 256, 512, 1024];
/** Accesses at a time; in the parallel RAM its processors. */
export const BATCHES = [1, 2, 4, 8];
/** The accesses at a time that a scheme begins with. */
export const usualBatch = (scheme) => (scheme === "parallel" ? 4 : 1);

const START = {
  scheme: "path", capacity: 32, workload: "add", seed: 1, batch: 1, lazy: false, map: "trusted",
  step: 0, side: "owner", label: "block", heat: false, tab: "watch",
};

/** The setting in an address, and the start's where it has none or one that makes no sense. */
export function settingOf(hash, schemes, workloads) {
  const said = new URLSearchParams(hash.replace(/^#/, ""));
  const among = (name, values) => (values.map(String).includes(said.get(name)) ? said.get(name) : START[name]);
  const number = (name, most) => {
    const value = Number(said.get(name) ?? NaN);
    return Number.isInteger(value) && value >= 0 && value <= most ? value : START[name];
  };
  const scheme = among("scheme", schemes.map(({ name }) => name));
  const batch = Number(said.get("batch"));
  return {
    scheme,
    capacity: Number(among("capacity", CAPACITIES)),
    workload: among("workload", Object.keys(workloads)),
    seed: number("seed", 2 ** 31 - 1),
    batch: BATCHES.includes(batch) ? batch : usualBatch(scheme),
    lazy: said.get("lazy") === "true",
    map: among("map", ["trusted", "recursive"]),
    step: number("step", 100_000),
    side: among("side", ["owner", "provider"]),
    label: among("label", ["block", "number", "nothing"]),
    heat: said.get("heat") === "true",
    tab: among("tab", ["watch", "game"]),
  };
}

/** The address of a setting, without what is as at the start. */
export function hashOf(setting) {
  const usual = { ...START, batch: usualBatch(setting.scheme) };
  const told = Object.keys(START).filter((name) => setting[name] !== usual[name]);
  return "#" + new URLSearchParams(told.map((name) => [name, String(setting[name])])).toString();
}
