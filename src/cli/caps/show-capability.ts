import { formatDuration, formatTime, oneLine, plural } from '../../base/format.ts'
import type { CapabilityReply } from '../../protocol/capability-api.ts'
import type { CommandHandler } from '../command.ts'
import { printFields } from '../memory/describe-memory.ts'
import type { Output } from '../output.ts'
import { stateOf } from './list-capabilities.ts'
import { withCaps } from './with-caps.ts'

/** `familiar caps show NAME`: all that there is to know of a capability. */
export const showCapability: CommandHandler<{ name: string }> = async (context, input) => {
  const capability = await withCaps(context, (caps) => caps.show(input.name))
  if (input.json) context.output.printJson(capability)
  else printCapability(context.output, capability)
  return undefined
}

function printCapability(output: Output, capability: CapabilityReply): void {
  const { name, version, description, problem, statistics, build, tags } = capability
  output.print(output.style('bold', version === null ? name : `${name} v${version}`))
  if (description) output.print(description)
  output.print()
  printFields(output, [
    ['State', `${stateOf(output, capability)}${problem ? `: ${problem}` : ''}`],
    ['Origin', origins[capability.origin]],
    ['Called as', capability.tool],
    ['Tags', tags.join(', ')],
    ['Asked as', capability.asked_as.map((sentence) => oneLine(sentence, 120)).join(' / ')],
    ['Calls', `${statistics.calls}, ${plural(statistics.failures, 'failure')}`],
    ['Median', statistics.median_ms === null ? null : formatDuration(statistics.median_ms)],
    ['Last call', statistics.last_called_at && formatTime(statistics.last_called_at)],
    ['Last error', statistics.last_error && oneLine(statistics.last_error, 200)],
    [
      'Build',
      build && `${build.id}, ${build.kind}, ${build.state}${build.error ? `: ${oneLine(build.error, 200)}` : ''}`,
    ],
  ])
  output.print('\nMay:')
  printPermissions(output, capability)
  output.print('\nVersions:')
  output.printTable(
    capability.versions.map((one) => [
      `v${one.version}${one.version === version ? ' *' : ''}`,
      one.runtime,
      formatTime(one.created_at),
      one.build_id === null ? origins[capability.origin] : `build ${one.build_id}`,
    ]),
  )
  output.print(`\nInput: ${JSON.stringify(capability.input_schema)}`)
}

/** What the owner's word would be given for. */
export function printPermissions(output: Output, { name, permissions }: CapabilityReply): void {
  const { hosts, secrets, storage } = permissions
  output.print(hosts.length > 0 ? `  reach ${hosts.join(', ')}` : '  reach no network')
  for (const { name: key, description, is_set } of secrets) {
    const missing = is_set ? '' : output.style('yellow', ` (not set: familiar caps secret ${name} ${key})`)
    output.print(`  use the secret ${key}${description ? `, ${oneLine(description, 200)}` : ''}${missing}`)
  }
  output.print(storage ? '  keep data between calls' : '  keep nothing between calls')
}

const origins = { built: 'built by the Builder', written: 'written by hand', imported: 'imported' } as const
