import { systemClock } from '../../base/clock.ts'
import { readHost } from '../../tools/contract/manifest/read-host.ts'
import { createToolStates } from '../../tools/contract/tool-states.ts'
import type { CommandHandler } from '../command.ts'
import { CommandError, usageError } from '../command-error.ts'
import { openBeside } from '../open-beside.ts'
import { withTools } from './with-tools.ts'

interface AllowInput {
  name: string
  hosts: string[]
  remove?: boolean
}

const mostHosts = 50

/**
 * `familiar tools allow NAME HOST…`: where a tool may go beside what its manifest declares. For whoever can write to the
 * home alone: no route of the API takes a host (SEC-4). A running Familiar is told to look again, and not what for.
 */
export const allowHosts: CommandHandler<AllowInput> = async (context, input) => {
  const { output } = context
  const named = input.hosts.map(hostOf)
  const { allowed, mode } = await withTools(context, async (tools) => {
    const { kind, network } = await tools.show(input.name)
    if (named.length === 0) return network
    if (kind !== 'contract') {
      throw new CommandError(`${input.name} is no tool of a folder: it has no hosts of its own.`, {
        code: 'bad_request',
      })
    }
    const hosts = input.remove
      ? network.allowed.filter((host) => !named.includes(host))
      : [...new Set([...network.allowed, ...named])]
    if (hosts.length > mostHosts) throw usageError(`A tool has at most ${mostHosts} hosts.`)
    const database = await openBeside(context)
    try {
      await createToolStates({ database, clock: systemClock() }).write(input.name, { hosts })
    } finally {
      await database.close()
    }
    return (await tools.reload(input.name)).network
  })
  if (input.json) output.printJson({ name: input.name, allowed })
  else if (allowed.length > 0 && mode === 'none') {
    output.print(`${input.name} would be let through to ${allowed.join(', ')}, but its manifest asks for no network.`)
  } else if (allowed.length === 0) output.print(`${input.name} may reach what its manifest declares, and nothing else.`)
  else output.print(`${input.name} may reach, beside what its manifest declares: ${allowed.join(', ')}`)
  return undefined
}

function hostOf(text: string): string {
  const host = readHost(text)
  if (host === undefined) {
    throw usageError(
      `${JSON.stringify(text)} is no host.`,
      'Such as: api.example.com, *.example.com, api.example.com:8443',
    )
  }
  return host
}
