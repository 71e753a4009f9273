import type { CapabilityRun } from './executor.ts'

/** What every run has that began. */
type Begun = Pick<CapabilityRun, 'log' | 'refusedHosts' | 'durationMs' | 'driver'>

/** A program seldom says clearly that it lacked a host, and to the service it looks as if the service had failed. */
export function failedRun(
  begun: Begun,
  { error, outcome }: { error: string; outcome: CapabilityRun['outcome'] },
): CapabilityRun {
  const failed = { ...begun, ok: false, value: null, text: '', card: null }
  if (begun.refusedHosts.length === 0) return { ...failed, error, outcome }
  const hosts = begun.refusedHosts.join(', ')
  const note = `It was not let through to ${hosts}: the manifest must declare every host that it reaches.`
  return { ...failed, error: `${error}\n${note}`, outcome: outcome === 'service_failed' ? 'failed' : outcome }
}

/** What it needs is not there, so nothing of it has run: that says nothing against it. */
export function refusedRun(error: string): CapabilityRun {
  const begun = { log: '', refusedHosts: [], durationMs: 0, driver: null }
  return failedRun(begun, { error, outcome: 'refused' })
}

export function withoutValue({ value, card, ...run }: CapabilityRun): Omit<CapabilityRun, 'value' | 'card'> {
  return run
}
