// The settings in the page's address: a link opens the same picture.

export const CAPACITIES = [8, 16, 32, 64, 128, 256, 512, 1024];
/** The choices for accesses at a time, or for processors of the parallel RAM. */
export const BATCHES = [1, 2, 4, 8];
/** Returns the default number of accesses at a time for a scheme. */
export const usualBatch = (scheme) => (scheme === "parallel" ? 4 : 1);

const START = {
  scheme: "path", capacity: 32, workload: "add", seed: 1, batch: 1, lazy: false, map: "trusted",
  step: 0, side: "owner", label: "block", heat: false, tab: "watch",
};

/**
 * Returns the setting in an address, with defaults for missing and invalid values. `refuse` gets the name and the value of
 * each invalid one.
 */
export function settingOf(hash, schemes, workloads, refuse) {
  const said = new URLSearchParams(hash.replace(/^#/, ""));
  for (const [name, value] of said) if (!Object.hasOwn(START, name)) refuse(name, value);
  const valid = (name, isValid, usual) => {
    if (!said.has(name)) return usual;
    if (isValid(said.get(name))) return said.get(name);
    refuse(name, said.get(name));
    return usual;
  };
  const among = (name, values, usual = START[name]) => valid(name, (value) => values.map(String).includes(value), usual);
  const number = (name, most) => Number(valid(name, (value) => /^\d{1,10}$/.test(value) && Number(value) <= most, START[name]));
  const scheme = among("scheme", schemes.map(({ name }) => name));
  return {
    scheme,
    capacity: Number(among("capacity", CAPACITIES)),
    workload: among("workload", Object.keys(workloads)),
    seed: number("seed", 2 ** 31 - 1),
    batch: Number(among("batch", BATCHES, usualBatch(scheme))),
    lazy: among("lazy", [true, false], "false") === "true",
    map: among("map", ["trusted", "recursive"]),
    step: number("step", 100_000),
    side: among("side", ["owner", "provider"]),
    label: among("label", ["block", "number", "nothing"]),
    heat: among("heat", [true, false], "false") === "true",
    tab: among("tab", ["watch", "game"]),
  };
}

/** Returns the address of a setting, without default values. */
export function hashOf(setting) {
  const usual = { ...START, batch: usualBatch(setting.scheme) };
  const changed = Object.keys(START).filter((name) => setting[name] !== usual[name]);
  return "#" + new URLSearchParams(changed.map((name) => [name, String(setting[name])])).toString();
}
