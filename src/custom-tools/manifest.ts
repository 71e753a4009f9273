import { z } from 'zod'
import { parseCronExpression } from '../base/cron-expression.ts'
import { isDeeperThan, parseAnyJson } from '../base/json.ts'
import { findHiddenIn, toDisplayText } from '../base/text.ts'
import type { Json } from '../protocol/messages.ts'
import type { ToolDetails } from '../protocol/tools.ts'
import { readHostPattern } from '../security/network/destinations.ts'

export type JsonObject = { [key: string]: Json }

const parameterTypes = ['string', 'integer', 'float', 'number', 'boolean', 'array', 'object'] as const
export type ParameterType = (typeof parameterTypes)[number]

export interface ToolParameter {
  name: string
  type: ParameterType
  description: string
  isRequired: boolean
  default?: Json
  /** Absent where every value of the type will do. */
  choices?: Json[]
  /** Of a list: the JSON Schema of its entries, where the manifest has one. */
  items?: JsonObject
}

export type ToolConfigField = ToolDetails['configuration'][number]

/** A checked `manifest.json` with its defaults. */
export type ToolManifest = Extract<ReturnType<typeof readManifest>, { ok: true }>['manifest']

const units: Record<string, number> = { '': 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }

/** `256m`, `1g`, `1.5G`, `512MB`, `268435456` to bytes. Undefined where it is no size. */
function readByteSize(text: string | number): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,12}(?:\.\d{1,3})?)\s?([bkmg]?)(?:i?b)?$/i.exec(String(text).trim()) ?? []
  const factor = units[unit.toLowerCase()]
  if (digits === undefined || factor === undefined) return undefined
  return Math.floor(Number(digits) * factor)
}

/** `256 MB`, as people say it of memory. */
export function describeByteSize(bytes: number): string {
  const megabytes = bytes / 1024 ** 2
  return megabytes >= 1 ? `${Number(megabytes.toFixed(1))} MB` : `${Math.ceil(bytes / 1024)} KB`
}

const maxIssues = 5
const maxFoundCharacters = 60

/** `trigger.type: expected one of "on_demand", "cron", "webhook", found "hourly"`, for each of the first few issues. */
export function describeManifestIssues(issues: readonly z.core.$ZodIssue[]): string {
  const told = issues
    .slice(0, maxIssues)
    .map((issue) => `${pathOf(issue.path)}: ${expectedOf(issue)}, found ${describeFound(issue.input)}`)
  const rest = issues.length > told.length ? [`and ${issues.length - told.length} more`] : []
  return [...told, ...rest].join('; ')
}

function pathOf(path: readonly PropertyKey[]): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${cut(String(step))}`))
  return steps.join('').replace(/^\./, '') || 'the manifest'
}

function expectedOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return `expected ${typeWords[issue.expected] ?? `a ${issue.expected}`}`
  if (issue.code === 'invalid_value') {
    const values = issue.values.map((value) => JSON.stringify(value))
    return values.length === 1 ? `expected ${values[0]}` : `expected one of ${values.join(', ')}`
  }
  if (issue.code === 'too_small') return `expected at least ${issue.minimum}${unitOf(issue.origin)}`
  if (issue.code === 'too_big') return `expected at most ${issue.maximum}${unitOf(issue.origin)}`
  return issue.message
}

export const typeWords: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  float: 'a number',
  int: 'a whole number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  nonoptional: 'a value',
}

function unitOf(origin: string): string {
  if (origin === 'string') return ' characters'
  return origin === 'array' ? ' entries' : ''
}

export function describeFound(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') return JSON.stringify(cut(value))
  if (Array.isArray(value)) return 'a list'
  return value !== null && typeof value === 'object' ? 'an object' : String(value)
}

function cut(text: string): string {
  const shown = toDisplayText(text).toWellFormed()
  return shown.length > maxFoundCharacters ? `${shown.slice(0, maxFoundCharacters).toWellFormed()}…` : shown
}

/** A name that is safe as a folder, in a URL and for every provider of models. */
export const slugPattern = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** A key of parameters or settings. Two underscores in front are kept for the machine. */
const fieldName = /^(?!__)[A-Za-z_][A-Za-z0-9_.-]{0,63}$/

const usualMemory = 256 * 1024 ** 2
const leastMemory = 4 * 1024 ** 2
const maxMemory = 2 * 1024 ** 3
const maxTimeoutSeconds = 300

const anything = z.unknown()
const shortText = z.string().max(200)
const flag = z.boolean()
const namedEntries = z.union([z.record(z.string(), anything), z.array(anything)], {
  error: 'expected an object or a list',
})

/** A key that is null counts as absent. */
function or<T extends z.ZodType, const Fallback>(schema: T, fallback: Fallback) {
  return schema.nullish().transform((value): NonNullable<z.output<T>> | Fallback => value ?? fallback)
}

/** An object of a manifest, which may be absent as a whole. Unknown keys are kept. */
function section<Shape extends z.ZodRawShape>(shape: Shape) {
  const schema = z.looseObject(shape)
  return schema.nullish().transform((value): z.output<typeof schema> => value ?? schema.parse({}))
}

/** As strict as it can be without refusing manifests that are published for this contract. Unknown keys are kept. */
const folderSchema = z.looseObject({
  name: z.string().regex(slugPattern, {
    error: 'expected up to 64 small letters, digits, "_" and "-", beginning with a letter or digit',
  }),
  description: z.string().trim().min(1).max(2_000),
  documentation: or(z.string().max(20_000), null),
  tips: anything.optional(),
  version: or(z.union([z.string().max(60), z.number()], { error: 'expected a text or a number' }), null),
  category: or(shortText, null),
  icon: anything.optional(),
  trigger: z.looseObject({
    type: z.enum(['on_demand', 'cron', 'webhook']),
    schedule: shortText.nullish(),
    prompt: z.string().max(4_000).nullish(),
  }),
  parameters: namedEntries,
  returns: anything,
  config_schema: or(namedEntries, {}),
  output: section({
    synthesize: or(flag, true),
    ephemeral: or(flag, false),
    label: or(z.enum(['internal', 'untrusted']), 'untrusted'),
    card: section({
      enabled: or(flag, false),
      title: or(shortText, null),
      accent_color: or(shortText, null),
      background_color: or(shortText, null),
    }),
  }),
  constraints: section({
    timeout_seconds: or(z.number().positive(), 9),
    cost_budget: or(z.number().min(0), null),
  }),
  sandbox: section({
    memory: or(z.union([z.string(), z.number()], { error: 'expected a size such as "256m"' }), usualMemory),
    network: or(z.enum(['none', 'bridge', 'host']), 'bridge'),
    hosts: or(z.array(z.string()).max(50), []),
    writable: or(flag, false),
  }),
  notification: section({ default_enabled: or(flag, true) }),
  input: or(z.enum(['argument', 'stdin']), 'argument'),
})
type WrittenManifest = z.output<typeof folderSchema>

/** One parameter, whether it stands under its name or in a list. */
const parameterSchema = z.looseObject({
  type: or(z.enum(parameterTypes), 'string'),
  description: or(z.string().max(2_000), ''),
  required: or(flag, false),
  default: z.json().nullish(),
  enum: z.array(z.json()).min(1).max(100).nullish(),
  items: z.record(z.string(), z.json()).nullish(),
})

/** One setting, whether it stands under its name or in a list. */
const settingSchema = z.looseObject({
  description: or(z.string().max(2_000), ''),
  secret: or(flag, false),
  required: or(flag, false),
  default: or(z.json(), null),
})

/** A host as a tool declares it and the owner allows it, always in the same spelling. Undefined where it is none. */
function readHost(text: string): string | undefined {
  const read = readHostPattern(text.trim())
  if (!read.ok) return undefined
  const { host, isWildcard, port } = read.value
  const name = host.includes(':') ? `[${host}]` : host
  return `${isWildcard ? '*.' : ''}${name}${port === undefined ? '' : `:${port}`}`
}

/**
 * A host that the owner types. A bare word is refused unless it is `localhost` or has a port: it is more likely a word of
 * an explanation that was pasted behind the command.
 */
export function readTypedHost(text: string): string | undefined {
  const isBareWord = !/[.:]/.test(text.trim().replace(/\.$/, '')) && text.trim().toLowerCase() !== 'localhost'
  return isBareWord ? undefined : readHost(text)
}

function readUrlHost(value: Json): string | undefined {
  if (typeof value !== 'string' || !/^https?:\/\//i.test(value) || !URL.canParse(value)) return undefined
  const { hostname, port } = new URL(value)
  return readHost(port ? `${hostname}:${port}` : hostname)
}

// Of this program, whether or not the configuration of this machine has them. Those that are there are known anyway.
const reserved = new Set(
  `find_tools web_search web_fetch browser exec message react reason session_status tts calculate chart generate_image file_read file_write
  file_edit`.split(/\s+/),
)

/** A name that no folder may take, so that nothing passes for a part of Familiar (SEC-14). */
export function isReservedName(name: string): boolean {
  return reserved.has(name) || /^(cap|mcp)[_-]/.test(name)
}

type Issue = z.core.$ZodIssue

/**
 * Entries that the contract writes as an object by name and some write as a list with a `name` or `key`, each checked.
 * Issues carry the place of the entry.
 */
function readNamedEntries<T>(
  section: 'parameters' | 'config_schema',
  written: Record<string, unknown> | readonly unknown[],
  schema: z.ZodType<T>,
): { entries: { name: string; value: T }[]; issues: Issue[] } {
  const nameKeys = section === 'parameters' ? ['name'] : ['key', 'name']
  const entries: { name: string; value: T }[] = []
  const issues: Issue[] = []
  const places: { path: PropertyKey[]; name: unknown; value: unknown }[] = Array.isArray(written)
    ? written.map((value, index) => ({ path: [section, index], name: nameIn(value, nameKeys), value }))
    : Object.entries(written).map(([name, value]) => ({ path: [section, name], name, value }))

  for (const { path, name, value } of places) {
    const checked = schema.safeParse(value, { reportInput: true })
    if (!checked.success) {
      issues.push(...checked.error.issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] })))
    } else if (typeof name !== 'string' || !fieldName.test(name)) {
      const message = 'expected a name of letters, digits, "_", "-" and "."'
      issues.push({ code: 'custom', path, message, input: name })
    } else if (entries.some((entry) => entry.name === name)) {
      issues.push({ code: 'custom', path, message: 'expected each name once', input: name })
    } else entries.push({ name, value: checked.data })
  }
  return { entries, issues }
}

function nameIn(value: unknown, keys: readonly string[]): unknown {
  if (value === null || typeof value !== 'object') return undefined
  return keys.map((key) => Object.entries(value).find(([own]) => own === key)?.[1]).find((name) => name !== undefined)
}

/** Both formats: every host in one spelling, each once. */
function readHosts(written: readonly string[], section: string, { problem }: Pick<Findings, 'problem'>): string[] {
  return written.flatMap((text, index) => {
    const host = readHost(text)
    if (host === undefined) problem(`${section}[${index}]`, 'a host such as "api.example.com"', text)
    return host ?? []
  })
}

function readMemory(written: string | number, { problem, note }: Findings): number {
  const bytes = readByteSize(written)
  if (bytes === undefined || bytes < leastMemory) {
    problem('sandbox.memory', `a size such as "256m", at least "4m"`, written)
    return usualMemory
  }
  if (bytes <= maxMemory) return bytes
  note(`sandbox.memory: held to ${describeByteSize(maxMemory)}`)
  return maxMemory
}

function readTimeout(seconds: number, { note }: Findings): number {
  if (seconds > maxTimeoutSeconds) note(`constraints.timeout_seconds: held to ${maxTimeoutSeconds} seconds`)
  return Math.ceil(Math.min(seconds, maxTimeoutSeconds) * 1_000)
}

const deepest = 20

/** The first step of both formats: bounded in depth before anything walks it, then as the schema says. */
function checkWritten<T>(
  json: Json,
  schema: z.ZodType<T>,
  { refusesHidden = false } = {},
): { ok: true; written: T } | { ok: false; problem: string } {
  if (isDeeperThan(json, deepest)) {
    return { ok: false, problem: 'the manifest: expected a value that is not nested this deeply' }
  }
  const hidden = refusesHidden ? findHiddenIn(json, 'the manifest') : undefined
  if (hidden) return { ok: false, problem: describeHidden(hidden) }
  const checked = schema.safeParse(json, { reportInput: true })
  return checked.success
    ? { ok: true, written: checked.data }
    : { ok: false, problem: describeManifestIssues(checked.error.issues) }
}

/** The findings in a manifest: problems refuse it, notes do not. */
interface Findings {
  problem(path: string, expected: string, found: unknown): void
  note(text: string): void
}

function collectProblems(problems: string[]): Findings['problem'] {
  return (path, expected, found) => problems.push(`${path}: expected ${expected}, found ${describeFound(found)}`)
}

/**
 * The manifest of a folder tool, or the places where it is wrong, with the value there and the expected one. The notes
 * name what had to be left out or held to a limit. Never throws.
 */
export function readManifest(json: Json) {
  const checked = checkWritten(json, folderSchema)
  if (!checked.ok) return wrong([checked.problem])
  const { written } = checked
  const { constraints, sandbox, output } = written
  const parameters = readNamedEntries('parameters', written.parameters, parameterSchema)
  const settings = readNamedEntries('config_schema', written.config_schema, settingSchema)
  const issues = [...parameters.issues, ...settings.issues]
  if (issues.length > 0) return wrong([describeManifestIssues(issues)])

  const problems: string[] = []
  const notes: string[] = []
  const findings: Findings = { problem: collectProblems(problems), note: (text) => notes.push(text) }
  if (isReservedName(written.name)) {
    findings.problem('name', 'one that Familiar does not keep for itself', written.name)
  }
  checkHidden(written, problems)
  const configuration = settings.entries.map(({ name: key, value }): ToolConfigField => {
    const { description, secret, required, default: usual } = value
    return { key, description, isSecret: secret, isRequired: required, default: usual }
  })
  // The hosts that it lists, and those of the addresses in the defaults of its settings.
  const listed = readHosts(sandbox.hosts, 'sandbox.hosts', findings)
  const fromDefaults = configuration.flatMap((field) => readUrlHost(field.default) ?? [])
  const { name, description, documentation, version, category, input, notification } = written
  const { enabled, title, accent_color, background_color } = output.card
  const manifest = {
    name,
    description,
    /** With the tips more text by which `find_tools` finds it. Never part of a request to a model. */
    documentation,
    tips: readTips(written.tips),
    version: version === null ? null : String(version),
    category,
    icon: readIcon(written.icon, findings),
    trigger: readTrigger(written, findings),
    parameters: parameters.entries.map((entry) => toParameter(entry, findings)),
    configuration,
    output: {
      /** False: the user sees the card, and the text is hidden. */
      synthesize: output.synthesize,
      ephemeral: output.ephemeral,
      /** Only a tool without a network and a webhook may be anything but `untrusted`. */
      label: readLabel(written, findings),
      card: { isEnabled: enabled, title, accentColor: accent_color, backgroundColor: background_color },
    },
    network: { mode: sandbox.network, hosts: [...new Set([...listed, ...fromDefaults])] },
    limits: {
      memoryBytes: readMemory(sandbox.memory, findings),
      timeoutMs: readTimeout(constraints.timeout_seconds, findings),
      isWritable: sandbox.writable,
    },
    costBudget: constraints.cost_budget,
    /** `argument`: base64 in its argument and JSON on standard input. `stdin`: on standard input alone. */
    input,
    /** Whether the output of a scheduled or webhook run is reported to the user at once. */
    notifies: notification.default_enabled,
    /** Everything as it is written, unknown keys among it. */
    written: json as JsonObject,
  }
  return problems.length > 0 ? wrong(problems) : { ok: true as const, manifest, notes }
}

function wrong(problems: readonly string[]) {
  return { ok: false as const, problem: `manifest.json: ${problems.join('; ')}` }
}

/** A text or a list of texts. Anything else was unknown to earlier versions and is ignored. */
function readTips(tips: unknown): string[] {
  const listed = Array.isArray(tips) ? tips : [tips]
  return listed.filter((tip): tip is string => typeof tip === 'string').map((tip) => tip.slice(0, 2_000))
}

/** Whatever a model or the owner decides by must be what it looks like. */
function checkHidden(written: WrittenManifest, problems: string[]): void {
  const { description, documentation, tips, category, trigger, parameters, config_schema, output } = written
  const shown = { description, documentation, tips, category, trigger, parameters, config_schema, output } as JsonObject
  for (const [section, value] of Object.entries(shown)) {
    const found = findHiddenIn(value ?? null, section)
    if (found) problems.push(describeHidden(found))
  }
}

function describeHidden({ path, character }: { path: string; character: string }): string {
  return `${path}: expected characters that can be seen, found ${character}`
}

function readTrigger({ trigger }: WrittenManifest, { problem }: Findings) {
  const { type, schedule, prompt } = trigger
  if (type === 'on_demand') return { type }
  if (type === 'webhook') return { type, prompt: prompt ?? null }
  // In which time zone it is kept is not for the manifest to say.
  const isSchedule = schedule != null && parseCronExpression(schedule, 'UTC').ok
  if (!isSchedule) problem('trigger.schedule', 'a schedule such as "*/30" or "0 7 * * 1-5"', schedule ?? undefined)
  if (!prompt) problem('trigger.prompt', 'the words that its output is handed over with', prompt)
  return { type, schedule: schedule ?? '', prompt: prompt ?? '' }
}

function toParameter(
  { name, value }: { name: string; value: z.output<typeof parameterSchema> },
  { problem }: Findings,
): ToolParameter {
  // Only Familiar sets these; a caller must not.
  if (name === '_state' || name === '_webhook') problem(`parameters.${name}`, 'a name that is not kept', name)
  const { type, description, required, default: usual, enum: choices, items } = value
  return {
    name,
    type,
    description,
    isRequired: required,
    ...(usual != null && { default: usual }),
    ...(choices && { choices }),
    ...(items && { items }),
  }
}

/** Only a tool through which no one outside can speak may vouch for its words. */
function readLabel({ output, sandbox, trigger }: WrittenManifest, { note }: Findings): 'internal' | 'untrusted' {
  if (output.label === 'untrusted') return 'untrusted'
  if (sandbox.network === 'none' && trigger.type !== 'webhook') return 'internal'
  note('output.label: what a tool with a network or a webhook tells stays untrusted')
  return 'untrusted'
}

const maxIconCharacters = 64

function readIcon(icon: unknown, { note }: Findings): string | null {
  if (icon == null || icon === '') return null
  const isName = typeof icon === 'string' && icon.length <= maxIconCharacters && !/[/:<>\\]/.test(icon)
  if (isName) return icon
  note('icon: left out; an emoji or the name of an icon is shown, and nothing is loaded from elsewhere')
  return null
}

export const jsonObjectSchema = z.record(
  z.string(),
  z.custom<Json>((value) => value !== undefined),
)

/** The permissions of a capability. They are shown to the owner, who approves them. */
export const permissionsSchema = z.object({
  /** As `readHostPattern` takes them. Empty: no network. */
  hosts: z.array(z.string()),
  /** By the names under which `context.secrets` has them. */
  secrets: z.array(z.object({ name: z.string(), description: z.string() })),
  /** Whether `context.storage` is kept between calls. */
  storage: z.boolean(),
})
type CapabilityPermissions = z.infer<typeof permissionsSchema>

/** The checked `manifest.json` of a version, as its row has it. */
export const checkedManifestSchema = permissionsSchema.extend({
  /** A slug: `weather_lookup`. The model calls it as `cap_weather_lookup`. */
  name: z.string(),
  description: z.string(),
  runtime: z.enum(['python', 'node']),
  inputSchema: jsonObjectSchema,
  tags: z.array(z.string()),
  /**
   * Sample questions of users: the search uses them, the owner sees them, and no prompt contains them. Versions from
   * before there was such a key have none.
   */
  askedAs: z.array(z.string()).default([]),
  timeoutMs: z.number(),
  memoryBytes: z.number(),
})
export type CapabilityManifest = z.infer<typeof checkedManifestSchema>

export function describePermissions({ hosts, secrets, storage }: CapabilityPermissions): string[] {
  const names = secrets.map(({ name, description }) => (description === '' ? name : `${name} (${description})`))
  return [
    hosts.length > 0 ? `It reaches ${hosts.join(', ')}.` : 'It reaches no network.',
    names.length > 0 ? `It is given the secrets ${names.join(', ')}.` : 'It is given no secret.',
    storage ? 'It keeps data between calls.' : 'It keeps nothing between calls.',
  ]
}

/** A text about a capability: `{{name}}` and the like in the template stand for parts of its manifest, or for others. */
export function describeIn(template: string, manifest: CapabilityManifest, others: Record<string, string>): string {
  const { name, description, inputSchema } = manifest
  const permissions = describePermissions(manifest).map((line) => `- ${line}`)
  const schema = JSON.stringify(inputSchema, null, 2)
  const parts: Record<string, string> = { name, description, schema, permissions: permissions.join('\n'), ...others }
  return `${template.replaceAll(/\{\{(\w+)\}\}/g, (_, part: string) => parts[part] ?? '')}\n`
}

const builtName = /^[a-z][a-z0-9_]{1,47}$/

export function whyNoName(name: string): string | undefined {
  if (!builtName.test(name)) return 'expected 2 to 48 small letters, digits and "_", beginning with a letter'
  return isReservedName(name) ? 'expected a name that Familiar does not keep for itself' : undefined
}

const secretName = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, {
  error: 'expected up to 64 letters, digits and "_", beginning with a letter',
})

const declaredSecret = z
  .union([secretName, z.looseObject({ name: secretName, description: or(z.string().max(500), '') })], {
    error: 'expected a name of letters, digits and "_", or an object with "name" and "description"',
  })
  .transform((secret) =>
    typeof secret === 'string'
      ? { name: secret, description: '' }
      : { name: secret.name, description: secret.description },
  )

/** The schema of `manifest.json`. Unknown keys are kept, and a null key counts as absent. */
const builtSchema = z.looseObject({
  name: z.string().check((context) => {
    const problem = whyNoName(context.value)
    if (problem !== undefined) context.issues.push({ code: 'custom', message: problem, input: context.value })
  }),
  description: z.string().trim().min(1).max(1_000),
  runtime: or(z.enum(['python', 'node']), 'python'),
  input_schema: z.looseObject({ type: z.literal('object') }),
  tags: or(z.array(z.string().trim().min(1).max(40)).max(20), []),
  asked_as: or(z.array(z.string().trim().min(1).max(120)).max(8), []),
  hosts: or(z.array(z.string()).max(50), []),
  secrets: or(z.array(declaredSecret).max(20), []),
  storage: or(flag, false),
  timeout_seconds: or(z.number().min(1).max(180), 30),
  memory_mb: or(z.int().min(16).max(1_024), 256),
})

const maxSchemaLength = 16 * 1024

/** The text of a built tool's `manifest.json`, or every place where it is wrong. Never throws. */
export function readBuiltManifest(
  text: string,
): { ok: true; manifest: CapabilityManifest } | { ok: false; problems: string[] } {
  const refuse = (problems: string[]) => ({
    ok: false as const,
    problems: problems.map((problem) => `manifest.json: ${problem}.`),
  })
  const parsed = parseAnyJson(text)
  if (!parsed.ok) return refuse([`it is no JSON: ${parsed.message}`])
  const checked = checkWritten(parsed.value, builtSchema, { refusesHidden: true })
  if (!checked.ok) return refuse([checked.problem])
  const { written } = checked
  const problems: string[] = []
  const inputSchema = written.input_schema as CapabilityManifest['inputSchema']
  if (JSON.stringify(inputSchema).length > maxSchemaLength) {
    problems.push(`input_schema: expected at most ${maxSchemaLength / 1024} KB`)
  }
  const hosts = readHosts(written.hosts, 'hosts', { problem: collectProblems(problems) })
  const { name, description, runtime, secrets, storage } = written
  const twice = secrets.find(({ name }, index) => secrets.findIndex((other) => other.name === name) !== index)
  if (twice) problems.push(`secrets: expected each name once, found ${describeFound(twice.name)}`)
  if (problems.length > 0) return refuse(problems)
  const manifest: CapabilityManifest = {
    name,
    description,
    runtime,
    inputSchema,
    tags: [...new Set(written.tags)],
    askedAs: [...new Set(written.asked_as)],
    hosts: [...new Set(hosts)],
    secrets: [...secrets],
    storage,
    timeoutMs: Math.ceil(written.timeout_seconds * 1_000),
    memoryBytes: written.memory_mb * 1024 ** 2,
  }
  return { ok: true, manifest }
}
