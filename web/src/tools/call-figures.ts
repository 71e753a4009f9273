import type { ToolCallReply } from '../../../src/protocol/tool-api.ts'

export interface CallFigures {
  calls: number
  failures: number
  /** Null where there was no call. */
  medianMs: number | null
  lastAt: string | null
}

/** How something has served, by its newest calls. */
export function callFigures(calls: readonly ToolCallReply[]): CallFigures {
  const times = calls.map(({ duration_ms }) => duration_ms).toSorted((one, other) => one - other)
  const middle = times.length / 2
  const medianMs =
    times.length === 0
      ? null
      : times.length % 2 === 1
        ? (times[Math.floor(middle)] ?? null)
        : ((times[middle - 1] ?? 0) + (times[middle] ?? 0)) / 2
  return {
    calls: calls.length,
    failures: calls.filter(({ outcome }) => outcome !== 'succeeded').length,
    medianMs,
    lastAt:
      calls
        .map(({ at }) => at)
        .toSorted()
        .at(-1) ?? null,
  }
}
