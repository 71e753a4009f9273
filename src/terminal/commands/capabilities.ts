import { resolve } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { formatCount, formatDuration, formatTime, oneLine, plural } from '../../base/text.ts'
import { writeNewCapability } from '../../custom-tools/new-tool.ts'
import {
  type CapabilityReply,
  type CapabilityRunReply,
  type CapabilitySummaryReply,
  capabilities,
  type RegistrationReply,
  registrationProgressSchema,
  registrationReplySchema,
} from '../../protocol/custom-tools.ts'
import { cardText } from '../../tools/cards/card-text.ts'
import { createStatusLine } from '../chat/chat-partner.ts'
import {
  type CommandContext,
  type CommandHandler,
  confirm,
  type ExitCode,
  exitCodes,
  interrupted,
  usageError,
} from '../command.ts'
import { watchedResult, withApi, withFamiliar } from '../connect.ts'
import { type Output, printCalls } from '../output.ts'
import { askForSettings, readJsonOption } from './tools.ts'

interface EnableInput {
  name: string
  yes?: boolean
}

/** `familiar caps enable NAME`: also approves the permissions of an imported one, as shown. */
export const enableCapability: CommandHandler<EnableInput> = async (context, input) => {
  const { output } = context
  const capability = await withApi(context, capabilities, (api) => api.show({ name: input.name }))
  if (capability.needs_approval && capability.version !== null) {
    return approve(context, input, { ...capability, version: capability.version })
  }
  const enabled = await withApi(context, capabilities, (api) => api.enable({ name: input.name }))
  return output.report(input.json, enabled, `${enabled.name} is on.`)
}

export const disableCapability: CommandHandler<{ name: string }> = async (context, input) => {
  const { output } = context
  const capability = await withApi(context, capabilities, (api) => api.disable({ name: input.name }))
  return output.report(
    input.json,
    capability,
    `${capability.name} is off. To enable it: familiar caps enable ${capability.name}`,
  )
}

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
  const reply = await watchRegistration(context, `${encodeURIComponent(name)}/approve`, { version })
  if (!input.json) return printRegistration(context, reply)
  output.printJson(reply)
  return reply.ok ? undefined : exitCodes.failed
}

// Nothing is repeated after a lost connection: a repetition would be a second version or a second run.
const once = { once: true }

/** `familiar caps export NAME DIRECTORY`: a folder that Familiar and readers of Agent Skills can import. */
export const exportCapability: CommandHandler<{ name: string; directory: string }> = async (context, input) => {
  const { output } = context
  const request = { name: input.name, directory: resolve(input.directory) }
  const exported = await withApi(context, capabilities, (api) => api.exportFolder(request), once)
  return output.report(
    input.json,
    { name: input.name, ...exported },
    `${exported.directory}: ${exported.files.join(', ')}`,
  )
}

/**
 * `familiar caps config NAME KEY`: asked for unseen, or read from standard input, and kept in the vault. Never taken from
 * the command line, where every process and the shell's history would see it.
 */
export const giveSecret: CommandHandler<{ name: string; key: string }> = async (context, input) => {
  const { output } = context
  const { name, key } = input
  const capability = await withApi(context, capabilities, (api) => api.show({ name }))
  const description = capability.permissions.secrets.find((secret) => secret.name === key)?.description ?? ''
  const asked = await askForSettings(context, [{ key, description, is_secret: true, is_required: true, default: null }])
  const kept = await withApi(context, capabilities, (api) => api.setSecret({ name, key, value: asked[key] ?? '' }), {
    talks: true,
  })
  if (input.json) output.printJson({ name, key, ...kept })
  else if (kept.was_awaited) output.print(`${key} is stored. The build of ${name} continues.`)
  else output.print(`${key} is stored. ${name} can use it from its next call.`)
  return undefined
}

/** `familiar caps list`: every capability, or those of one state, or those that fit some words. */
export const listCapabilities: CommandHandler<{ state?: CapabilityReply['state']; query?: string }> = async (
  context,
  input,
) => {
  const { output } = context
  const { state, query } = input
  const reply = await withApi(context, capabilities, (api) => api.list({ state, query }))
  return output.list(input.json, {
    value: reply,
    empty: nothing(input),
    header: ['Capability', 'State', 'Version', 'Calls', 'Description'],
    rows: reply.capabilities.map((capability) => [
      capability.name,
      stateOf(output, capability),
      capability.version === null ? '' : `v${capability.version}`,
      callsOf(capability),
      oneLine(capability.problem ?? capability.description, 200),
    ]),
  })
}

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

/** `familiar caps show NAME`. */
export const showCapability: CommandHandler<{ name: string }> = async (context, input) => {
  const capability = await withApi(context, capabilities, (api) => api.show({ name: input.name }))
  return context.output.report(input.json, capability, () => printCapability(context.output, capability))
}

function printCapability(output: Output, capability: CapabilityReply): void {
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
    [
      'Build',
      build && `${build.id}, ${build.kind}, ${build.state}${build.error ? `: ${oneLine(build.error, 200)}` : ''}`,
    ],
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

/** The permissions that the owner approves. */
function printPermissions(output: Output, { name, permissions }: CapabilityReply): void {
  const { hosts, secrets, storage } = permissions
  output.print(hosts.length > 0 ? `  reach ${hosts.join(', ')}` : '  no network access')
  for (const { name: key, description, is_set } of secrets) {
    const missing = is_set ? '' : output.style('yellow', ` (not set: familiar caps config ${name} ${key})`)
    output.print(`  use the secret ${key}${description ? `, ${oneLine(description, 200)}` : ''}${missing}`)
  }
  output.print(storage ? '  store data between calls' : '  no storage')
}

const origins = { built: 'built by Familiar', written: 'written by hand', imported: 'imported' } as const

/** Has a folder checked, with a line on the terminal that says how far it is. Ctrl-C ends it; nothing is registered then. */
async function watchRegistration(context: CommandContext, operation: string, body: object): Promise<RegistrationReply> {
  const { output, stderr, signal } = context
  const status = createStatusLine({ stream: stderr, clock: systemClock(), afterMs: 300 })
  try {
    return await withFamiliar(
      context,
      ({ transport }) =>
        watchedResult(transport, {
          path: `/local/capabilities/${operation}`,
          request: { body },
          schemas: { progress: registrationProgressSchema, result: registrationReplySchema },
          watched: { signal, onProgress: ({ message }) => status.show(oneLine(message, 200)) },
        }),
      once,
    )
  } catch (error) {
    if (!signal.aborted) throw error
    status.clear()
    output.note('Canceled. Nothing was registered.')
    throw interrupted()
  } finally {
    status.clear()
  }
}

/** How the examples went and what is wrong, for people; the exit code for both. */
function printRegistration(
  { output }: CommandContext,
  { ok, name, version, examples, problems }: RegistrationReply,
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

/** `familiar caps import DIRECTORY`: imported and off. None of its code has run. */
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
    output.note(`To enable it: familiar caps enable ${capability.name}`)
  }
  return reply.ok ? undefined : exitCodes.failed
}

interface NewInput {
  name: string
  language: 'python' | 'node'
}

/** `familiar caps new NAME`: a folder here that can be registered unchanged. */
export const newCapability: CommandHandler<NewInput> = async ({ output }, input) => {
  const { name, language: runtime } = input
  const written = await writeNewCapability({ root: resolve('.'), name, runtime })
  if (!written.ok) throw usageError(written.problem)
  const { directory, files } = written
  if (input.json) return output.printJson({ name, directory, files })
  output.print(`${directory}: ${files.join(', ')}`)
  output.note(`To check and activate it: familiar caps register ${name}`)
  return undefined
}

/** `familiar caps register PATH`: the same gate that the Builder passes. For this machine alone: no token may bring code. */
export const registerCapability: CommandHandler<{ path: string }> = async (context, input) => {
  const reply = await watchRegistration(context, 'register', { directory: resolve(input.path) })
  if (!input.json) return printRegistration(context, reply)
  context.output.printJson(reply)
  return reply.ok ? undefined : exitCodes.failed
}

/** `familiar caps review`: unused capabilities, and why. Nothing is changed. */
export const reviewCapabilities: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const { proposals } = await withApi(context, capabilities, (api) => api.proposals())
  if (input.json) output.printJson({ proposals })
  else if (proposals.length === 0) output.print('No unused or superseded capabilities.')
  else {
    output.printTable(
      proposals.map(({ name, reason }) => [name, reason]),
      { header: ['Capability', 'Reason'] },
    )
    output.note('To disable one: familiar caps disable NAME. Its versions are kept.')
  }
  return undefined
}

/** `familiar caps rollback NAME [VERSION]`: nothing is deleted. */
export const rollBack: CommandHandler<{ name: string; version?: number }> = async (context, input) => {
  const { output } = context
  // Done again, "the one before" would be another one.
  const { name, version } = input
  const capability = await withApi(context, capabilities, (api) => api.rollback({ name, version }), once)
  return output.report(input.json, capability, `${capability.name} now uses v${capability.version}.`)
}

interface RunInput {
  name: string
  params?: string
  version?: number
}

/** `familiar caps run NAME`: a capability as Familiar would run it, in the same sandbox, with the same secrets. */
export const runCapability: CommandHandler<RunInput> = async (context, input) => {
  const args = await readJsonOption(context, '--params', input.params)
  const { name, version } = input
  const run = await withApi(context, capabilities, (api) => api.run({ name, args, version }, context.signal), once)
  if (!input.json) return printRun(context, input.name, run)
  context.output.printJson(run)
  return run.ok ? undefined : exitCodes.failed
}

function printRun({ output, stdout }: CommandContext, name: string, run: CapabilityRunReply) {
  const { ok, card, text, error, log, driver } = run
  if (card) output.print(cardText({ ...card, width: Math.min(stdout.columns ?? 80, 100) }))
  else if (ok) output.print(text)
  if (log) output.note(output.style('dim', log.trimEnd().replaceAll(/^/gm, `${name}: `)))
  for (const host of run.refused_hosts) output.note(`Blocked: ${host} is not in its permissions.`)
  if (driver) output.note(output.style('dim', `${formatDuration(run.duration_ms)}, ${driver} sandbox`))
  if (ok) return undefined
  const hint = run.outcome === 'failed' ? `To repair it: familiar caps repair ${name}` : undefined
  return output.fail(error ?? 'It failed without an error message.', hint, exitCodes.failed)
}

/** `familiar caps logs NAME`. */
export const showCapabilityCalls: CommandHandler<{ name: string; limit: number }> = async (
  context,
  { name, limit, json },
) => {
  const { calls } = await withApi(context, capabilities, (api) => api.calls({ name, limit: Math.min(500, limit) }))
  printCalls(context.output, name, { calls, json })
  return undefined
}

/** `familiar caps diff NAME [FROM] [TO]`: what changed between two versions. */
export const showDifference: CommandHandler<{ name: string; from?: number; to?: number }> = async (context, input) => {
  const { output } = context
  const { name } = input
  const difference = await withApi(context, capabilities, (api) => api.diff({ name, from: input.from, to: input.to }))
  const { from, to, files } = difference
  if (input.json) output.printJson(difference)
  else if (files.length === 0) output.print(`v${from} and v${to} of ${input.name} are the same.`)
  else for (const { text } of files) for (const line of text.trimEnd().split('\n')) output.print(coloured(output, line))
  return undefined
}

function coloured(output: Output, line: string): string {
  if (line.startsWith('---') || line.startsWith('+++')) return output.style('bold', line)
  if (line.startsWith('@@')) return output.style('cyan', line)
  if (line.startsWith('+')) return output.style('green', line)
  return line.startsWith('-') ? output.style('red', line) : line
}
