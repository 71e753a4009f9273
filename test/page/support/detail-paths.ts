import type { Samples } from './sample-data.ts'

/** One thing of each kind, with all of its tabs. */
export function detailPaths({ session, turn, memory, fact, schedule }: Samples): string[] {
  return [
    `/memory/${memory}`,
    `/memory/${fact}`,
    '/blocks/household.md',
    '/toolbox/unit_converter',
    '/capabilities/greeter',
    '/skills/tea',
    `/schedules/${schedule}`,
    '/schedules/new',
    `/monitor/turn/${session}/${turn}`,
    `/monitor/context/${session}`,
    '/nowhere',
  ]
}
