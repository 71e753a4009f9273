/** The chance that a call finds all servers busy: Erlang's C, for random arrivals and service times without memory. */
export function erlangC(servers: number, load: number): number {
  if (load >= servers) return 1
  // Erlang's B by its recurrence: factorials of hundreds of servers would overflow.
  let blocked = 1
  for (let server = 1; server <= servers; server += 1) blocked = (load * blocked) / (server + load * blocked)
  return blocked / (1 - (load / servers) * (1 - blocked))
}

/** The mean wait before service in M/M/c; infinite where more comes than can be served. */
export function meanWaitMs(options: { servers: number; perSecond: number; serviceMs: number }): number {
  const { servers, perSecond, serviceMs } = options
  const load = (perSecond * serviceMs) / 1_000
  if (load >= servers) return Number.POSITIVE_INFINITY
  return (erlangC(servers, load) * serviceMs) / (servers - load)
}

/** How long a share of all calls waits at most in M/M/c. */
export function waitAtMs(options: { servers: number; perSecond: number; serviceMs: number }, share: number): number {
  const { servers, perSecond, serviceMs } = options
  const load = (perSecond * serviceMs) / 1_000
  if (load >= servers) return Number.POSITIVE_INFINITY
  const waits = erlangC(servers, load)
  return waits <= 1 - share ? 0 : (Math.log(waits / (1 - share)) * serviceMs) / (servers - load)
}
