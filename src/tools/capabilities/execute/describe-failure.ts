import type { SandboxEnd, SandboxLimits } from '../../../sandbox/sandbox.ts'
import { describeByteSize } from '../../contract/manifest/byte-size.ts'
import type { HarnessReport } from './harness-report.ts'

/** What the sandbox had to end, in a sentence. Undefined where it ended by itself. */
export function describeEnd(end: SandboxEnd, limits: SandboxLimits): string | undefined {
  switch (end.kind) {
    case 'timed_out':
      return `It did not finish within ${limits.wallMs / 1_000} s.`
    case 'out_of_memory':
      return `It ran out of memory: it may use ${describeByteSize(limits.memoryBytes)}.`
    case 'output_too_large':
      return `It printed or returned more than ${describeByteSize(limits.outputBytes)}.`
    case 'killed':
      return `It was ended by ${end.signal}.`
    case 'exited':
      return undefined
  }
}

/** Why there is no result, as the harness saw it. */
export function describeReport(report: Extract<HarnessReport, { ok: false }>): string {
  switch (report.kind) {
    case 'exception':
      return `It failed with an exception:\n${report.detail}`
    case 'exit':
      return `It called ${report.detail} instead of returning a result.`
    case 'no_json':
      return `What run returned is no JSON: ${report.detail}.`
    case 'no_run':
      return `${report.detail} has no function named run.`
    case 'nothing':
      return `run returned nothing (${report.detail}). It returns a text or an object.`
    case 'unsettled':
      return 'run never finished: it waits for something that cannot come any more.'
  }
}
