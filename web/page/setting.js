// The run and its drawing, as stated in the address: a link opens the same picture.

export const CAPACITIES = [8, 16, 32, 64, 128, 256, 512, 1024];
/** Accesses per batch; in the parallel RAM its processors. */
export const BATCHES = [1, 2, 4, 8];
/** The initial accesses per batch of a scheme. */
export const usualBatch = (scheme) => (scheme === "parallel" ? 4 : 1);

const START = {
  scheme: "path", capacity: 32, workload: "add", seed: 1, batch: 1, lazy: false, map: "trusted",
  step: 0, side: "owner", label: "block", heat: false, tab: "watch",
};

/**
 * The setting in an address, with defaults for missing and invalid values; `refuse` gets the name and the
 * value of each invalid one.
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

/** The address of a setting, without the values of the start. */
export function hashOf(setting) {
  const usual = { ...START, batch: usualBatch(setting.scheme) };
  const changed = Object.keys(START).filter((name) => setting[name] !== usual[name]);
  return "#" + new URLSearchParams(changed.map((name) => [name, String(setting[name])])).toString();
}
