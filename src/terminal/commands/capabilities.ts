import { resolve } from 'node:path'
import type { z } from 'zod'
import { formatCount, formatDuration, formatTime, oneLine, plural } from '../../base/text.ts'
import { writeNewCapability } from '../../custom-tools/new-tool.ts'
import {
  type CapabilityReply,
  type CapabilitySummaryReply,
  capabilities,
  registrationProgressSchema,
  registrationReplySchema,
} from '../../protocol/custom-tools.ts'
import { cardText } from '../../tools/cards/card-text.ts'
import { type CommandContext, type CommandHandler, confirm, type ExitCode, exitCodes, usageError } from '../command.ts'
import { type Answer, apiCommand, once, watchedResult, withApi } from '../connect.ts'
import { callTable, type Output } from '../output.ts'
import { watchProgress } from './memory.ts'
import { askForSettings, readJsonOption } from './tools.ts'

interface EnableInput {
  name: string
  yes?: boolean
}

/** Also approves the permissions of an imported one, as shown. */
export const enableCapability: CommandHandler<EnableInput> = async (context, input) => {
  const capability = await withApi(context, capabilities, (api) => api.show({ name: input.name }))
  if (capability.needs_approval && capability.version !== null) {
    return approve(context, input, { ...capability, version: capability.version })
  }
  const enabled = await withApi(context, capabilities, (api) => api.enable({ name: input.name }))
  return context.output.report(input.json, enabled, `${enabled.name} is on.`)
}

export const disableCapability = apiCommand(
  capabilities,
  (api, { name }: { name: string }) => api.disable({ name }),
  ({ name }, { commandLine }) => `${name} is off. To enable it: ${commandLine(`caps enable ${name}`)}`,
)

async function approve(
  context: CommandContext,
  input: EnableInput & { json?: boolean },
  capability: CapabilityReply & { version: number },
) {
  const { output } = context
  const { name, version, description } = capability
  if (!input.json) {
    output.print(`${output.style('bold', `${name} v${version}`)} was imported: ${description}`)
    output.print('Permissions:')
    printPermissions(output, capability)
  }
  if (!input.yes && !(await confirm(context, `Enable ${name} with these permissions?`))) {
    output.print('Not approved. Nothing was changed.')
    return undefined
  }
  return register(context, input.json, `${encodeURIComponent(name)}/approve`, { version })
}

/** A folder that Familiar and readers of Agent Skills can import. */
export const exportCapability = apiCommand(
  capabilities,
  async (api, { name, directory }: { name: string; directory: string }) => ({
    name,
    ...(await api.exportFolder({ name, directory: resolve(directory) })),
  }),
  ({ directory, files }) => `${directory}: ${files.join(', ')}`,
  once,
)

/**
 * A secret is asked for without echo, or read from standard input, and kept in the vault. It is never taken from the
 * command line, where every process and the shell's history would see it.
 */
export const giveSecret: CommandHandler<{ name: string; key: string }> = async (context, input) => {
  const { name, key } = input
  const capability = await withApi(context, capabilities, (api) => api.show({ name }))
  const description = capability.permissions.secrets.find((secret) => secret.name === key)?.description ?? ''
  const asked = await askForSettings(context, [{ key, description, is_secret: true, is_required: true, default: null }])
  const kept = await withApi(context, capabilities, (api) => api.setSecret({ name, key, value: asked[key] ?? '' }), {
    talks: true,
  })
  const effect = kept.was_awaited ? `The build of ${name} continues.` : `${name} can use it from its next call.`
  return context.output.report(input.json, { name, key, ...kept }, `${key} is stored. ${effect}`)
}

export const listCapabilities = apiCommand(
  capabilities,
  (api, { state, query }: { state?: CapabilityReply['state']; query?: string }) => api.list({ state, query }),
  (reply, output, input) => ({
    empty: nothing(input),
    header: ['Capability', 'State', 'Version', 'Calls', 'Description'],
    rows: reply.capabilities.map((capability) => [
      capability.name,
      stateOf(output, capability),
      capability.version === null ? '' : `v${capability.version}`,
      callsOf(capability),
      oneLine(capability.problem ?? capability.description, 200),
    ]),
  }),
)

function stateOf(output: Output, { state }: Pick<CapabilitySummaryReply, 'state'>): string {
  if (state === 'failed') return output.style('red', state)
  return state === 'active' ? state : output.style('yellow', state)
}

function callsOf({ calls, failures }: CapabilitySummaryReply): string {
  return failures === 0 ? formatCount(calls) : `${formatCount(calls)} (${formatCount(failures)} failed)`
}

function nothing({ state, query }: { state?: string; query?: string }): string {
  if (query !== undefined) return 'No capabilities found.'
  if (state !== undefined) return `No capability is ${state}.`
  return 'No capabilities yet. Ask for one in a chat, or create one: familiar caps new NAME'
}

export const showCapability = apiCommand(
  capabilities,
  (api, { name }: { name: string }) => api.show({ name }),
  printCapability,
)

function printCapability(capability: CapabilityReply, output: Output): undefined {
  const { name, version, description, problem, statistics, build, tags } = capability
  output.print(output.style('bold', version === null ? name : `${name} v${version}`))
  if (description) output.print(description)
  output.print()
  output.printFields([
    ['State', `${stateOf(output, capability)}${problem ? `: ${problem}` : ''}`],
    ['Origin', origins[capability.origin]],
    ['Called as', capability.tool],
    ['Tags', tags.join(', ')],
    ['Asked as', capability.asked_as.map((sentence) => oneLine(sentence, 120)).join(' / ')],
    ['Calls', `${statistics.calls}, ${plural(statistics.failures, 'failure')}`],
    ['Median', statistics.median_ms === null ? null : formatDuration(statistics.median_ms)],
    ['Last call', statistics.last_called_at && formatTime(statistics.last_called_at)],
    ['Last error', statistics.last_error && oneLine(statistics.last_error, 200)],
    ['Build', build && `${build.id}, ${build.kind}, ${build.state}${problemOf(build.error)}`],
  ])
  output.print('\nPermissions:')
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

function problemOf(error: string | null): string {
  return error ? `: ${oneLine(error, 200)}` : ''
}

/** The permissions that the owner approves. */
function printPermissions(output: Output, { name, permissions }: CapabilityReply): void {
  const { hosts, secrets, storage } = permissions
  output.print(hosts.length > 0 ? `  reach ${hosts.join(', ')}` : '  no network access')
  for (const { name: key, description, is_set } of secrets) {
    const missing = is_set
      ? ''
      : output.style('yellow', ` (not set: ${output.commandLine(`caps config ${name} ${key}`)})`)
    output.print(`  use the secret ${key}${description ? `, ${oneLine(description, 200)}` : ''}${missing}`)
  }
  output.print(storage ? '  store data between calls' : '  no storage')
}

const origins = { built: 'built by Familiar', written: 'written by hand', imported: 'imported' } as const

/**
 * Has a folder checked, with a line of progress on the terminal, and prints the result. Ctrl-C ends it; nothing is
 * registered then.
 */
async function register(context: CommandContext, json: boolean | undefined, operation: string, body: object) {
  const reply = await watchProgress(context, {
    describe: ({ message }: z.infer<typeof registrationProgressSchema>) => oneLine(message, 200),
    stopped: 'Canceled. Nothing was registered.',
    work: ({ transport }, watched) =>
      watchedResult(transport, {
        path: `/local/capabilities/${operation}`,
        request: { body },
        schemas: { progress: registrationProgressSchema, result: registrationReplySchema },
        watched,
      }),
    ...once,
  })
  if (!json) return printRegistration(context, reply)
  context.output.printJson(reply)
  return reply.ok ? undefined : exitCodes.failed
}

/** The results of the examples and the problems, for people. */
function printRegistration(
  { output }: CommandContext,
  { ok, name, version, examples, problems }: Answer<typeof capabilities.register>,
): ExitCode | undefined {
  for (const example of examples) {
    const mark = example.ok ? output.style('green', '✓') : output.style('red', '✗')
    output.print(`${mark} ${oneLine(JSON.stringify(example.input), 200)}`)
    if (!example.ok && example.detail) output.print(example.detail.replaceAll(/^/gm, '    '))
  }
  if (ok) {
    output.print(`${name} v${version} is active. ${plural(examples.length, 'example')} passed.`)
    return undefined
  }
  const lines = problems.map((problem) => `  ${problem.replaceAll('\n', '\n  ')}`)
  return output.fail(['Not accepted:', ...lines].join('\n'), undefined, exitCodes.failed)
}

/** An imported capability is off. None of its code has run. */
export const importCapability: CommandHandler<{ directory: string }> = async (context, input) => {
  const { output } = context
  const { reply, capability } = await withApi(
    context,
    capabilities,
    async (api) => {
      const imported = await api.importFolder({ directory: resolve(input.directory) })
      const { name } = imported
      return { reply: imported, capability: name === null ? undefined : await api.show({ name }) }
    },
    once,
  )
  if (input.json) output.printJson({ ...reply, permissions: capability?.permissions ?? null })
  else if (!capability) return printRegistration(context, reply)
  else {
    output.print(`${output.style('bold', `${capability.name} v${reply.version}`)}: ${capability.description}`)
    output.print('It is off. Permissions:')
    printPermissions(output, capability)
    output.note(`To enable it: ${output.commandLine(`caps enable ${capability.name}`)}`)
  }
  return reply.ok ? undefined : exitCodes.failed
}

/** A folder here that can be registered unchanged. */
export const newCapability: CommandHandler<{ name: string; language: 'python' | 'node' }> = async (context, input) => {
  const { output } = context
  const { name, language: runtime } = input
  const written = await writeNewCapability({ root: resolve('.'), name, runtime })
  if (!written.ok) throw usageError(written.problem)
  const { directory, files } = written
  return output.report(input.json, { name, directory, files }, () => {
    output.print(`${directory}: ${files.join(', ')}`)
    output.note(`To check and activate it: ${output.commandLine(`caps register ${name}`)}`)
  })
}

/** The same gate that the Builder passes. On this machine only: no token may bring code. */
export const registerCapability: CommandHandler<{ path: string }> = (context, input) =>
  register(context, input.json, 'register', { directory: resolve(input.path) })

/** Unused capabilities, and why. Nothing is changed. */
export const reviewCapabilities = apiCommand(
  capabilities,
  async (api) => ({ proposals: (await api.proposals()).proposals }),
  ({ proposals }) => ({
    empty: 'No unused or superseded capabilities.',
    header: ['Capability', 'Reason'],
    rows: proposals.map(({ name, reason }) => [name, reason]),
    note: 'To disable one: familiar caps disable NAME. Its versions are kept.',
  }),
)

/** Nothing is deleted. A repetition would take "the one before" of another version. */
export const rollBack = apiCommand(
  capabilities,
  (api, { name, version }: { name: string; version?: number }) => api.rollback({ name, version }),
  ({ name, version }) => `${name} now uses v${version}.`,
  once,
)

/** Runs it as Familiar would, in the same sandbox, with the same secrets. */
export const runCapability: CommandHandler<{ name: string; params?: string; version?: number }> = async (
  context,
  input,
) => {
  const args = await readJsonOption(context, '--params', input.params)
  const { name, version } = input
  const run = await withApi(context, capabilities, (api) => api.run({ name, args, version }, context.signal), once)
  if (!input.json) return printRun(context, input.name, run)
  context.output.printJson(run)
  return run.ok ? undefined : exitCodes.failed
}

function printRun({ output, stdout }: CommandContext, name: string, run: Answer<typeof capabilities.run>) {
  const { ok, card, text, error, log, driver } = run
  if (card) output.print(cardText({ ...card, width: Math.min(stdout.columns ?? 80, 100) }))
  else if (ok) output.print(text)
  if (log) output.note(output.style('dim', log.trimEnd().replaceAll(/^/gm, `${name}: `)))
  for (const host of run.refused_hosts) output.note(`Blocked: ${host} is not in its permissions.`)
  if (driver) output.note(output.style('dim', `${formatDuration(run.duration_ms)}, ${driver} sandbox`))
  if (ok) return undefined
  const hint = run.outcome === 'failed' ? `To repair it: ${output.commandLine(`caps repair ${name}`)}` : undefined
  return output.fail(error ?? 'It failed without an error message.', hint, exitCodes.failed)
}

export const showCapabilityCalls = apiCommand(
  capabilities,
  async (api, { name, limit }: { name: string; limit: number }) => {
    const { calls } = await api.calls({ name, limit: Math.min(500, limit) })
    return { calls }
  },
  ({ calls }, output, { name }) => callTable(output, name, calls),
)

export const showDifference = apiCommand(
  capabilities,
  (api, { name, from, to }: { name: string; from?: number; to?: number }) => api.diff({ name, from, to }),
  ({ from, to, files }, output, { name }) => {
    if (files.length === 0) return `v${from} and v${to} of ${name} are the same.`
    for (const { text } of files) for (const line of text.trimEnd().split('\n')) output.print(coloured(output, line))
    return undefined
  },
)

function coloured(output: Output, line: string): string {
  if (line.startsWith('---') || line.startsWith('+++')) return output.style('bold', line)
  if (line.startsWith('@@')) return output.style('cyan', line)
  if (line.startsWith('+')) return output.style('green', line)
  return line.startsWith('-') ? output.style('red', line) : line
}
