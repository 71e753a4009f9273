import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command, Option } from 'commander'
import { z } from 'zod'
import { settingsReadAtStart } from '../src/daemon/config/follow-config.ts'
import { renamedKeys, settingsSchema } from '../src/daemon/config/settings-schema.ts'
import { providerSchema } from '../src/daemon/config/tools-schema.ts'
import { startDaemon } from '../src/daemon/daemon.ts'
import type { CommandsReply } from '../src/protocol/commands.ts'
import { features } from '../src/protocol/features.ts'
import { createProgram } from '../src/terminal/program.ts'
import type { Report } from './source-files.ts'

// Writes the reference tables of docs/: `npm run docs`. Each stands between two comments of its page, and comes from the
// schemas of the configuration, from the OpenAPI document and from the command line. Also writes the operations that the page
// calls. `npm run check` fails when one is old.

const root = join(import.meta.dirname, '..')

interface JsonSchema {
  type?: string | string[]
  description?: string
  default?: unknown
  enum?: unknown[]
  const?: unknown
  properties?: Record<string, JsonSchema>
  additionalProperties?: JsonSchema | boolean
  items?: JsonSchema
  anyOf?: JsonSchema[]
  required?: string[]
  minimum?: number
  maximum?: number
  $ref?: string
}

interface Operation {
  summary: string
  'x-familiar-access': string
  parameters: { name: string; in: string; required: boolean }[]
  requestBody?: { content: Record<string, { schema: JsonSchema }> }
}

interface OpenApi {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, JsonSchema> }
}

/** The pages that `npm run docs` would change. */
export async function checkPages(): Promise<Report> {
  const stale = (await generatePages()).filter(({ path, text }) => readFileSync(join(root, path), 'utf8') !== text)
  return { findings: stale.map(({ path }) => `${path} is out of date: run npm run docs`) }
}

async function generatePages(): Promise<{ path: string; text: string }[]> {
  const { api, commands } = await askDaemon()
  const program = createProgram({ version: '', homePath: '~/.familiar', run: async () => undefined })
  const pages = {
    'docs/configuration.md': {
      settings: `${settingsTable(settingsSchema)}\n\n${renamedTable()}`,
      provider: settingsTable(providerSchema),
    },
    'docs/api.md': { operations: operationTables(api) },
    'docs/commands.md': { commands: commandTables(program), slash: slashTable(commands) },
  }
  const documents = Object.entries(pages).map(([path, parts]) => {
    const text = Object.entries<string>(parts).reduce(
      (page, [name, table]) => replacePart(page, name, table),
      readFileSync(join(root, path), 'utf8'),
    )
    return { path, text }
  })
  return [...documents, { path: 'web/src/api/operations.ts', text: pageOperations() }]
}

function replacePart(page: string, name: string, table: string): string {
  const part = new RegExp(`(<!-- generated: ${name} -->\\n)[\\s\\S]*?(<!-- end: ${name} -->)`)
  if (!part.test(page)) throw new Error(`No place for the generated part ${name}`)
  return page.replace(part, (_, start: string, end: string) => `${start}\n${table}\n\n${end}`)
}

/** The self-description of a daemon in an empty home. */
async function askDaemon(): Promise<{ api: OpenApi; commands: CommandsReply['commands'] }> {
  const home = mkdtempSync(join(tmpdir(), 'familiar-docs-'))
  const env = { FAMILIAR_MODEL: 'offline/offline', FAMILIAR_EMBEDDING: 'off', FAMILIAR_SANDBOX: 'off' }
  const started = await startDaemon({ home, port: 0, env })
  if (!started.ok) throw new Error(JSON.stringify(started))
  const { daemon } = started
  try {
    const ask = async (path: string): Promise<unknown> => {
      const response = await fetch(`${daemon.url}${path}`, {
        headers: { authorization: `Bearer ${daemon.credential}` },
      })
      return await response.json()
    }
    const { commands } = (await ask('/api/v1/commands')) as CommandsReply
    return { api: (await ask('/api/v1/openapi.json')) as OpenApi, commands }
  } finally {
    await daemon.close(0)
    rmSync(home, { recursive: true, force: true })
  }
}

// Configuration

/** Settings of a table that is read at the start, but take effect at once. */
const takenUpAtOnce = [
  'assets.attachment_tokens',
  'assets.block_budget_tokens',
  'callback.channels',
  'telegram.allowed_ids',
  'telegram.repeat_unknown',
]

function settingsTable(schema: z.ZodType): string {
  const json = z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' }) as JsonSchema
  const rows = keysOf(json, '')
  const undescribed = rows.filter(({ schema: { description } }) => !description)
  if (undescribed.length > 0) throw new Error(`Keys without a description: ${undescribed.map(({ key }) => key).join()}`)
  const hasRestarts = schema === settingsSchema
  const groups = Map.groupBy(rows, ({ key }) => (hasRestarts ? (key.split('.')[0] ?? '') : ''))
  return [...groups]
    .map(([group, keys]) => {
      const lines = keys.map(({ key, schema: { description = '' }, ...row }) => {
        const cells = [`\`${key}\``, row.type, row.default, description.replaceAll('|', '\\|')]
        return tableRow(hasRestarts ? [...cells, needsRestart(key) ? 'restart' : 'reload'] : cells)
      })
      const header = ['key', 'type', 'default', 'description', ...(hasRestarts ? ['change takes effect'] : [])]
      return [...(group ? [`### ${group}`, ''] : []), ...tableHead(header), ...lines].join('\n')
    })
    .join('\n\n')
}

/** Keys of earlier versions. */
function renamedTable(): string {
  const rows = renamedKeys.map(({ old, now }) => tableRow([`\`${old.join('.')}\``, `\`${now.join('.')}\``]))
  return ['### Deprecated names', '', ...tableHead(['old key', 'key']), ...rows].join('\n')
}

interface SettingRow {
  key: string
  type: string
  default: string
  schema: JsonSchema
}

function keysOf(schema: JsonSchema, prefix: string): SettingRow[] {
  const name = (key: string) => (prefix === '' ? key : `${prefix}.${key}`)
  const inside = Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    if (!isTable(value)) return [settingRow(name(key), value)]
    return keysOf(value, name(key))
  })
  const { additionalProperties: named } = schema
  if (typeof named !== 'object' || !isTable(named)) return inside
  return [...inside, ...keysOf(named, name('NAME'))]
}

/** Whether it is written as a table of TOML that has keys of its own to describe. */
function isTable(schema: JsonSchema): boolean {
  const { properties, additionalProperties: named, anyOf, description } = schema
  if (anyOf?.some((one) => one.properties)) {
    const merged = Object.assign({}, ...anyOf.map((one) => one.properties ?? {})) as Record<string, JsonSchema>
    schema.properties = merged
    return true
  }
  if (properties) return true
  return typeof named === 'object' && !description && isTable(named)
}

function settingRow(key: string, schema: JsonSchema): SettingRow {
  return { key, schema, type: typeOf(schema), default: defaultOf(schema) }
}

function typeOf(schema: JsonSchema): string {
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(', ')
  if (schema.anyOf) return [...new Set(schema.anyOf.filter(({ type }) => type !== 'null').map(typeOf))].join(' or ')
  if (schema.type === 'array') return schema.items ? `list of ${typeOf(schema.items)}` : 'list'
  if (schema.type === 'object') return 'table'
  if (schema.type === 'integer') return 'whole number'
  return schema.type === undefined ? 'any' : schema.type === 'string' ? 'text' : String(schema.type)
}

function defaultOf({ default: value }: JsonSchema): string {
  if (value === undefined || value === null) return ''
  if (Array.isArray(value) && value.length === 0) return '`[]`'
  if (typeof value === 'number' && !Number.isInteger(value)) return `\`${Number(value.toFixed(3))}\``
  const isEmpty = typeof value === 'object' && Object.keys(value).length === 0
  return isEmpty ? '' : `\`${JSON.stringify(value).replaceAll('","', '", "')}\``
}

function needsRestart(key: string): boolean {
  const isUnder = (name: string) => key === name || key.startsWith(`${name}.`)
  return settingsReadAtStart.some(isUnder) && !takenUpAtOnce.includes(key)
}

// HTTP

/** The first part of a path that says what it is about. */
function subjectOf(path: string): string {
  const [first = '', second = '', third = ''] = path.split('/').filter((step) => step !== '')
  if (first === 'v1') return 'OpenAI'
  if (first !== 'api') return first === 'tools' ? 'tools' : 'Other paths'
  if (second !== 'v1') return 'Other paths'
  return third === 'local' ? 'This machine only' : third
}

function operationTables({ paths, components }: OpenApi): string {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const late = ['OpenAI', 'This machine only', 'Other paths']
  const groups = [...Map.groupBy(all, ({ path }) => subjectOf(path))].sort(
    ([one], [other]) => late.indexOf(one) - late.indexOf(other) || (one < other ? -1 : 1),
  )
  const tables = groups.map(([subject, operations]) => {
    const rows = operations
      .sort((one, other) =>
        one.path < other.path ? -1 : one.path > other.path ? 1 : one.method < other.method ? -1 : 1,
      )
      .map(({ path, method, operation }) => {
        const takes = [...queryOf(operation), ...bodyOf(operation, components.schemas)].join(', ')
        return tableRow([`\`${method} ${path}\``, plain(operation.summary), operation['x-familiar-access'], takes])
      })
    return [`### ${subject}`, '', ...tableHead(['operation', 'what it does', 'access', 'takes']), ...rows].join('\n')
  })
  return [`${all.length} operations.`, ...tables].join('\n\n')
}

function queryOf({ parameters }: Operation): string[] {
  return parameters
    .filter((one) => one.in === 'query')
    .map(({ name, required }) => `\`?${name}\`${required ? '' : '?'}`)
}

function bodyOf({ requestBody }: Operation, schemas: Record<string, JsonSchema>): string[] {
  const [mediaType, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
  if (mediaType === undefined) return []
  if (mediaType !== 'application/json') return [mediaType]
  const name = content?.schema.$ref?.split('/').at(-1) ?? ''
  const { properties = {}, required = [] } = schemas[name] ?? {}
  return Object.keys(properties).map((key) => `\`${key}\`${required.includes(key) ? '' : '?'}`)
}

// Command line

function commandTables(program: Command): string {
  const shown = program.commands.filter((command) => command.name() !== 'help' && !isHidden(command))
  return [...Map.groupBy(shown, (command) => command.helpGroup().replace(/:$/, '') || 'Other')]
    .map(([group, commands]) => {
      const rows = commands.flatMap((command) => commandRows(command, 'familiar'))
      return [`### ${group}`, '', ...tableHead(['command', 'what it does', 'options']), ...rows].join('\n')
    })
    .join('\n\n')
}

function commandRows(command: Command, path: string): string[] {
  const name = `${path} ${command.name()}`
  const values = command.registeredArguments.map((argument) =>
    argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
  )
  const children = command.commands.filter((child) => child.name() !== 'help' && !isHidden(child))
  return [
    tableRow([`\`${[name, ...values].join(' ')}\``, plain(command.description()), optionsOf(command)]),
    ...children.flatMap((child) => commandRows(child, name)),
  ]
}

function isHidden(command: Command): boolean {
  return (command as Command & { _hidden?: boolean })._hidden === true
}

function optionsOf(command: Command): string {
  const everywhere = ['--home', '--json', '--help']
  const options = command.options.filter(({ long, hidden }) => !hidden && !everywhere.includes(long ?? ''))
  return options.map((option) => `\`${option.flags}\` ${plain(optionText(option))}`).join('<br>')
}

function optionText({ description, argChoices, defaultValue }: Option): string {
  const notes = [
    ...(argChoices ? [argChoices.join(', ')] : []),
    ...(defaultValue === undefined || defaultValue === false ? [] : [`default: ${String(defaultValue)}`]),
  ]
  return notes.length > 0 ? `${description} (${notes.join('; ')})` : description
}

function slashTable(commands: CommandsReply['commands']): string {
  const rows = commands.map(({ usage, summary, changes_for_good }) =>
    tableRow([`\`${usage.replaceAll('|', '\\|')}\``, plain(summary), changes_for_good ? 'yes' : '']),
  )
  return [...tableHead(['command', 'what it does', 'asks first']), ...rows].join('\n')
}

// The page

/** Method and path of each operation that a browser may call, so that the page needs no schemas at run time. */
function pageOperations(): string {
  const base = '/api/v1/'
  const groups = features.flatMap((feature) => Object.entries(feature) as [string, object][])
  const lines = groups
    .flatMap(([group, members]) =>
      Object.entries<unknown>({ ...members }).flatMap(([name, member]) => {
        if (!isOperation(member) || !member.path.startsWith(base) || member.path.startsWith(`${base}local/`)) return []
        return [`  '${group}.${name}': '${member.method} ${member.path.slice(base.length - 1)}',`]
      }),
    )
    .sort()
  return [
    '// Written by `npm run docs` from src/protocol. Do not edit.',
    '',
    '/** Method and path of each operation, without the base path of the API. */',
    'export const paths = {',
    ...lines,
    '} as const',
    '',
  ].join('\n')
}

function isOperation(value: unknown): value is { method: string; path: string } {
  return typeof value === 'object' && value !== null && 'method' in value && 'path' in value
}

// Markdown

function tableHead(names: string[]): string[] {
  return [tableRow(names), `|${names.map(() => '---').join('|')}|`]
}

function tableRow(cells: string[]): string {
  return `| ${cells.join(' | ')} |`
}

/** Text for a cell of a table. Only code spans keep their markup. */
function plain(text: string): string {
  return text.replaceAll('\n', ' ').replace(/`[^`|]*`|[|<>*_]/g, (mark) => (mark.startsWith('`') ? mark : `\\${mark}`))
}

// The launcher imports this file when its own Node is new enough, so it is not always the main module.
if (process.argv[1] === import.meta.filename) {
  for (const { path, text } of await generatePages()) writeFileSync(join(root, path), text)
}
