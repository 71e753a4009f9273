import { systemClock } from '../../base/clock.ts'
import { parseAnyJson } from '../../base/json.ts'
import { formatBytes, formatDuration, formatTime, oneLine, plural } from '../../base/text.ts'
import { readTypedHost } from '../../custom-tools/manifest.ts'
import {
  failuresOf,
  readOwnTests,
  type ToolLanguage,
  type ToolTest,
  writeNewTool,
} from '../../custom-tools/new-tool.ts'
import { createToolStates } from '../../custom-tools/tool-approval.ts'
import type { Json } from '../../protocol/messages.ts'
import {
  type ToolFieldReply,
  type ToolReply,
  type ToolRunReply,
  type ToolRunRequest,
  type ToolSummaryReply,
  type TriggerRunReply,
  tools,
  triggers,
} from '../../protocol/tools.ts'
import { cardText } from '../../tools/cards/card-text.ts'
import {
  type CommandContext,
  CommandError,
  type CommandHandler,
  exitCodes,
  interrupted,
  readStandardInput,
  textOrInput,
  usageError,
} from '../command.ts'
import { apiCommand, withApi } from '../connect.ts'
import { requireHome } from '../local-home.ts'
import { withDatabase } from '../open-beside.ts'
import { callTable, type Output } from '../output.ts'
import { openTerminalPrompts } from '../setup-prompts.ts'

/** Checks the settings of a tool, then runs its tests one by one. */
export const testTool: CommandHandler<{ name: string }> = async (context, input) => {
  const { output, signal } = context
  const { name } = input
  const results = await withApi(
    context,
    tools,
    async (api) => {
      const { directory } = await api.show({ name })
      if (directory === null) {
        const hint = 'Custom tools: familiar tools'
        throw new CommandError(`${name} is not a custom tool, so it has no tests.`, { code: 'bad_request', hint })
      }
      const tests = await readToolTests(directory)
      const readiness = await api.test({ name })
      if (!readiness.ok) throw new CommandError(`${name} is not ready for tests: ${readiness.message}`)
      const done = []
      for (const test of tests) {
        const telemetry = test.telemetry as ToolRunRequest['telemetry']
        const run = await api.run({ name, params: test.params, telemetry }, signal)
        const { duration_ms } = run
        const failures = failuresOf(test, run)
        const ok = failures.length === 0
        done.push({ name: test.name, ok, failures, duration_ms })
        if (input.json) continue
        const mark = ok ? output.style('green', '✓') : output.style('red', '✗')
        output.print(`${mark} ${test.name} ${output.style('dim', formatDuration(duration_ms))}`)
        for (const failure of failures) output.print(`    ${failure}`)
      }
      return done
    },
    { once: true },
  )
  const failed = results.filter(({ ok }) => !ok).length
  if (input.json) output.printJson({ ok: failed === 0, tests: results })
  else if (failed === 0) output.print(`${plural(results.length, 'test')} passed.`)
  else output.fail(`${plural(failed, 'test')} of ${results.length} failed.`, undefined, exitCodes.failed)
  return failed === 0 ? undefined : exitCodes.failed
}

interface AllowInput {
  name: string
  hosts: string[]
  remove?: boolean
}

const maxHosts = 50

/**
 * Allows a tool more hosts than its manifest declares. It needs write access to the home: no route of the API takes a
 * host (SEC-4). A running Familiar only reads the state of tools again.
 */
export const allowHosts: CommandHandler<AllowInput> = async (context, input) => {
  const named = input.hosts.map(hostOf)
  const { allowed, mode } = await withApi(context, tools, async (api) => {
    const { kind, network } = await api.show({ name: input.name })
    if (named.length === 0) return network
    if (kind !== 'contract') {
      throw new CommandError(`${input.name} is not a custom tool, so its hosts cannot be changed.`, {
        code: 'bad_request',
      })
    }
    const hosts = input.remove
      ? network.allowed.filter((host) => !named.includes(host))
      : [...new Set([...network.allowed, ...named])]
    if (hosts.length > maxHosts) throw usageError(`A tool has at most ${maxHosts} hosts.`)
    await withToolStates(context, (states) => states.write(input.name, { hosts }))
    return (await api.reload({ name: input.name })).network
  })
  return context.output.report(input.json, { name: input.name, allowed }, () => {
    const hosts = allowed.join(', ')
    if (hosts === '') return `${input.name} may reach only the hosts in its manifest.`
    if (mode === 'none') return `${input.name} may reach ${hosts}, but its manifest asks for no network.`
    return `${input.name} may reach, in addition to the hosts in its manifest: ${hosts}`
  })
}

/** The decisions of the owner about tools, in the database of the home. */
export function withToolStates<T>(
  context: CommandContext,
  work: (states: ReturnType<typeof createToolStates>) => Promise<T>,
): Promise<T> {
  return withDatabase(context, (database) => work(createToolStates({ database, clock: systemClock() })))
}

function hostOf(text: string): string {
  const host = readTypedHost(text)
  if (host === undefined) {
    throw usageError(
      `${JSON.stringify(text)} is not a host. Nothing was changed.`,
      'Examples: api.example.com, *.example.com, localhost, nas:8443',
    )
  }
  return host
}

/** Values of settings: asked in a terminal, secrets hidden; from a pipe, one line per key. */
export async function askForSettings(
  context: CommandContext,
  fields: readonly ToolFieldReply[],
): Promise<Record<string, string>> {
  if (fields.length === 0) return {}
  return context.stdin.isTTY ? askAtTerminal(fields) : readFromPipe(context, fields)
}

async function askAtTerminal(fields: readonly ToolFieldReply[]): Promise<Record<string, string>> {
  const prompts = await openTerminalPrompts()
  const answers: Record<string, string> = {}
  for (const { key, description, is_secret } of fields) {
    const message = description ? `${key} (${description})` : key
    const validate = (text: string) => (text.trim() === '' ? 'A value is required.' : undefined)
    const answer = is_secret ? await prompts.askSecret({ message, validate }) : await prompts.ask({ message, validate })
    if (answer === undefined) throw interrupted()
    answers[key] = answer
  }
  return answers
}

async function readFromPipe(
  context: CommandContext,
  fields: readonly ToolFieldReply[],
): Promise<Record<string, string>> {
  const lines = (await readStandardInput(context))
    .toString('utf8')
    .replace(/\r?\n$/, '')
    .split(/\r?\n/)
  // A single secret may have several lines, such as a PEM key.
  const values = fields.length === 1 ? [lines.join('\n')] : lines
  const missing = fields.find((_, at) => (values[at] ?? '') === '')
  if (missing) throw usageError(`Standard input has no value for ${missing.key}.`, 'Write one line per setting.')
  return Object.fromEntries(fields.map(({ key }, at) => [key, values[at] ?? '']))
}

interface ConfigInput {
  name: string
  settings: string[]
  unset?: string[]
}

/**
 * Shows the settings of a tool, or sets some. A secret is never taken from the command line, where every process and the
 * shell's history could see it.
 */
export const configureTool: CommandHandler<ConfigInput> = async (context, input) => {
  const { output } = context
  const { name } = input
  const fields = (await withApi(context, tools, (api) => api.show({ name }))).configuration
  const given = parseSettings(input.settings, fields, name)
  const asked = await askForSettings(context, given.asked)
  const values = { ...given.values, ...asked }
  const unset = (input.unset ?? []).map((key) => fieldOf(fields, key, name).key)
  const { config } = await withApi(context, tools, async (api) => {
    if (Object.keys(values).length > 0) await api.setConfig({ name, body: values })
    for (const key of unset) await api.deleteConfig({ name, key })
    return api.config({ name })
  })
  return output.report(
    input.json,
    { config },
    {
      empty: `${name} has no settings.`,
      header: ['Setting', 'Value', ''],
      rows: fields.map((field) => {
        const value = config[field.key]
        const isMissing = value === undefined && field.is_required
        const shown = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
        return [field.key, isMissing ? output.style('yellow', 'required') : shown, field.description]
      }),
    },
  )
}

function parseSettings(
  words: readonly string[],
  fields: readonly ToolFieldReply[],
  tool: string,
): { values: Record<string, Json>; asked: ToolFieldReply[] } {
  const values: Record<string, Json> = {}
  const asked: ToolFieldReply[] = []
  for (const word of words) {
    const at = word.indexOf('=')
    const field = fieldOf(fields, at < 0 ? word : word.slice(0, at), tool)
    if (at < 0) asked.push(field)
    else if (field.is_secret) {
      const hint = `To enter it: familiar tools config ${tool} ${field.key}`
      throw usageError(`${field.key} is a secret, which others could see on the command line.`, hint)
    } else values[field.key] = word.slice(at + 1)
  }
  return { values, asked }
}

function fieldOf(fields: readonly ToolFieldReply[], key: string, tool: string): ToolFieldReply {
  const field = fields.find((one) => one.key === key)
  if (field) return field
  const known = fields.map((one) => one.key).join(', ')
  throw usageError(
    `${tool} has no setting ${JSON.stringify(key)}.`,
    known === '' ? 'It has no settings.' : `Settings: ${known}`,
  )
}

/** A new secret for the callers of a webhook. */
export const makeHook = apiCommand(
  triggers,
  async (api, { name }: { name: string }, { daemon }) => {
    const reply = await api.makeSecret({ name })
    return { ...reply, url: daemon ? `${daemon.url}${reply.path}` : null }
  },
  ({ secret, url, path }, output) => {
    output.print(secret)
    output.note('Shown only once. Earlier secrets stop working.')
    output.note(`Callers send POST ${url ?? path} with:`)
    output.note('  x-familiar-timestamp: seconds since 1970')
    output.note('  x-familiar-nonce: 8 to 128 letters, digits, - and _, unique per request')
    output.note('  x-familiar-signature: hex of HMAC-SHA256 over "TIMESTAMP.NONCE.BODY" with the secret')
  },
)

/** Scheduled and webhook runs, with late and missed ones. */
export const listRuns = apiCommand(
  triggers,
  async (api, { name, limit }: { name?: string; limit?: number }) => {
    const { runs } = await (name === undefined ? api.allRuns({ limit }) : api.runs({ name, limit }))
    return { runs }
  },
  ({ runs }) => ({
    empty: 'No scheduled or webhook runs.',
    header: ['Tool', 'By', 'Due', 'State', ''],
    rows: runs.map((run) => [run.tool, run.kind, formatTime(run.due_at), stateOf(run), run.error ?? '']),
  }),
)

function stateOf({ state, is_late, due_at, started_at }: TriggerRunReply): string {
  if (!is_late || started_at === null) return state
  const minutes = Math.round((Date.parse(started_at) - Date.parse(due_at)) / 60_000)
  return `${state}, ${minutes} min late`
}

/** Tools that the user can change; with `--all`, also the built-in tools. */
export const listTools: CommandHandler<{ all?: boolean }> = async (context, input) => {
  const { output } = context
  const { tools: every } = await withApi(context, tools, (api) => api.list())
  const shown = input.all ? every : every.filter(({ kind, status }) => kind !== 'builtin' || status === 'disabled')
  output.report(
    input.json,
    { tools: shown },
    {
      empty: 'No custom tools yet. Create one: familiar tools new NAME',
      header: ['Tool', 'Status', 'Runs', 'Description'],
      rows: shown.map((tool) => [
        tool.name,
        statusOf(output, tool),
        tool.trigger,
        oneLine(tool.problem ?? tool.description, 200),
      ]),
    },
  )
  const own = every.length - shown.length
  if (!input.json && own > 0) output.note(`${own} built-in tools are not shown: --all`)
  return undefined
}

function statusOf(output: Output, { status }: Pick<ToolSummaryReply, 'status'>): string {
  if (status === 'error') return output.style('red', status)
  return status === 'available' || status === 'disabled' ? output.style('yellow', states[status]) : states[status]
}

const states = {
  system: 'on',
  connected: 'on',
  available: 'needs settings',
  disabled: 'off',
  building: 'building',
  error: 'error',
} as const

interface NewInput {
  name: string
  language: ToolLanguage
  description?: string
}

/** A tool that works, in the home. A running Familiar finds it by itself. */
export const newTool: CommandHandler<NewInput> = async (context, input) => {
  const { output } = context
  const { name, language, description } = input
  const written = await writeNewTool({ root: (await requireHome(context)).tools, name, language, description })
  if (!written.ok) throw usageError(`${written.problem}.`)
  const { directory, files } = written
  return output.report(input.json, { name, directory, files }, () => {
    output.print(`${directory}: ${files.join(', ')}`)
    output.note(`To try it:  ${output.commandLine(`tools run ${name} --params '{"name": "Ada"}'`)}`)
    output.note(`To test it: ${output.commandLine(`tools test ${name}`)}`)
  })
}

/** The object in an option, or on standard input for `-`. */
export async function readJsonOption(
  context: CommandContext,
  option: string,
  text: string | undefined,
): Promise<{ [key: string]: Json }> {
  if (text === undefined) return {}
  const example = `Example: ${option} '{"name": "Anna"}'`
  const parsed = parseAnyJson(await textOrInput(context, text))
  if (!parsed.ok) throw usageError(`${option} is not JSON: ${parsed.message}.`, example)
  const { value } = parsed
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value
  const kind = Array.isArray(value) ? 'a list' : `a ${typeof value}`
  throw usageError(`${option} must be a JSON object, not ${value === null ? 'null' : kind}.`, example)
}

/** Runs it as Familiar would, in the same sandbox, with the same settings. */
export const runTool: CommandHandler<{ name: string; params?: string; telemetry?: string }> = async (
  context,
  input,
) => {
  const params = await readJsonOption(context, '--params', input.params)
  const telemetry = (await readJsonOption(context, '--telemetry', input.telemetry)) as ToolRunRequest['telemetry']
  const run = await withApi(context, tools, (api) => api.run({ name: input.name, params, telemetry }, context.signal), {
    once: true,
  })
  if (!input.json) return printRun(context, input.name, run)
  // The fields of the tool contract, plus duration and sandbox.
  const { text, html, title, error, budget_remaining, duration_ms, driver } = run
  context.output.printJson({ text, html, title, error, budget_remaining, duration_ms, driver })
  return error === null ? undefined : exitCodes.failed
}

function printRun({ output, stdout }: CommandContext, name: string, run: ToolRunReply) {
  const { card, text, error, notes, log, driver } = run
  if (card) output.print(cardText({ ...card, width: Math.min(stdout.columns ?? 80, 100) }))
  else if (text !== null) output.print(text)
  for (const note of notes) output.note(output.style('dim', note))
  if (log) output.note(output.style('dim', log.replaceAll(/^/gm, `${name}: `)))
  if (driver) output.note(output.style('dim', `${formatDuration(run.duration_ms)}, ${driver} sandbox`))
  return error === null ? undefined : output.fail(error, undefined, exitCodes.failed)
}

export const showCalls = apiCommand(
  tools,
  async (api, { name, limit }: { name: string; limit: number }) => {
    const { calls } = await api.calls({ name, limit: Math.min(500, limit) })
    return { calls }
  },
  ({ calls }, output, { name }) => callTable(output, name, calls),
)

export const showTool = apiCommand(tools, (api, { name }: { name: string }) => api.show({ name }), printTool)

function printTool(tool: ToolReply, output: Output): undefined {
  const { limits } = tool
  output.print(output.style('bold', [tool.name, tool.version].filter(Boolean).join(' ')))
  if (tool.description) output.print(tool.description)
  output.print()
  output.printFields([
    ['Status', `${statusOf(output, tool)}${tool.problem ? `: ${tool.problem}` : ''}`],
    ['Kind', tool.kind === 'builtin' ? 'built in' : tool.kind === 'mcp' ? 'MCP server' : 'custom'],
    ['Folder', tool.directory],
    ['Runs', tool.trigger],
    ['Category', tool.category],
    ['Network', tool.kind === 'contract' ? networkOf(tool) : null],
    ['Allowed', tool.network.allowed.join(', ')],
    ['Refused', tool.refused_hosts.length > 0 ? `${tool.refused_hosts.join(', ')} (familiar tools allow)` : null],
    ['Memory', limits && formatBytes(limits.memory_bytes)],
    ['Time', limits && formatDuration(limits.timeout_ms)],
    ['Writes', limits && (limits.is_writable ? '/tmp, while it runs' : 'nothing')],
    ['Settings', tool.reads_argument && tool.configuration.length > 0 ? 'passed in its argument' : null],
  ])
  if (tool.configuration.length > 0) printConfiguration(output, tool.configuration)
  if (tool.kind === 'contract') output.print(`\nParameters: ${JSON.stringify(tool.parameters)}`)
  for (const note of tool.notes) output.print(output.style('dim', `Note: ${note}`))
}

function networkOf({ network: { mode, declared } }: ToolReply): string {
  if (mode === 'none') return 'none'
  if (mode === 'host') return 'network of this machine'
  return declared.length > 0 ? declared.join(', ') : 'none, until you allow a host'
}

function printConfiguration(output: Output, fields: readonly ToolFieldReply[]): void {
  output.print('\nSettings:')
  output.printTable(
    fields.map(({ key, is_secret, is_required, description }) => [
      `  ${key}`,
      [is_required ? 'required' : '', is_secret ? 'secret' : ''].filter(Boolean).join(', '),
      description,
    ]),
  )
}

/** Also re-approves a tool that changed. */
export const enableTool = apiCommand(
  tools,
  (api, { name }: { name: string }) => api.enable({ name }),
  ({ name, problem }) => (problem === null ? `${name} is on.` : `${name} is on, but ${problem}`),
)

export const disableTool = apiCommand(
  tools,
  (api, { name }: { name: string }) => api.disable({ name }),
  ({ name }, { commandLine }) => `${name} is off. To enable it: ${commandLine(`tools enable ${name}`)}`,
)

/** The tests next to the manifest of a tool. */
export async function readToolTests(directory: string): Promise<ToolTest[]> {
  const reading = await readOwnTests(directory)
  if (reading.ok) return reading.tests
  const { code, problem, cause } = reading
  const hint = `Example: [{"name": "greets", "params": {}, "expect": {"text_contains": "Hello"}}]`
  throw new CommandError(problem, { code, cause, ...(code === 'not_found' && { hint }) })
}
