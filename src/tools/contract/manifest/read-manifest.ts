import { parseCronExpression } from '../../../base/cron-expression.ts'
import type { Json } from '../../../protocol/json.ts'
import { isDeeperThan } from '../json-depth.ts'
import type { ToolConfigField } from '../tool-catalog.ts'
import { describeFound, describeIssues } from './describe-issue.ts'
import type { Findings } from './findings.ts'
import { findHiddenIn } from './hidden-characters.ts'
import type { JsonObject, ManifestReading, ToolManifest, ToolParameter, ToolTrigger } from './manifest.ts'
import { fieldName, manifestSchema, parameterSchema, settingSchema, type WrittenManifest } from './manifest-schema.ts'
import { readNamedEntries } from './named-entries.ts'
import { readLimits, readNetwork } from './read-permissions.ts'
import { isReservedName } from './reserved-names.ts'

const deepest = 20

/**
 * Any JSON to a manifest, or to the places where it is wrong, with what stands there and what is expected. Never throws.
 * `folder` is the name that it must have.
 */
export function readManifest(json: Json, { folder }: { folder: string }): ManifestReading {
  if (isDeeperThan(json, deepest)) return wrong(['the manifest: expected a value that is not nested this deeply'])
  const checked = manifestSchema.safeParse(json, { reportInput: true })
  if (!checked.success) return wrong([describeIssues(checked.error.issues)])
  const written = checked.data
  const parameters = readNamedEntries({
    written: written.parameters,
    schema: parameterSchema,
    section: 'parameters',
    nameKeys: ['name'],
    isName: fieldName,
  })
  const settings = readNamedEntries({
    written: written.config_schema ?? {},
    schema: settingSchema,
    section: 'config_schema',
    nameKeys: ['key', 'name'],
    isName: fieldName,
  })
  const issues = [...parameters.issues, ...settings.issues]
  if (issues.length > 0) return wrong([describeIssues(issues)])

  const problems: string[] = []
  const notes: string[] = []
  const findings: Findings = {
    problem: (path, expected, found) => problems.push(`${path}: expected ${expected}, found ${describeFound(found)}`),
    note: (text) => notes.push(text),
  }
  checkName(written.name, folder, findings)
  checkHidden(written, problems)
  const configuration = settings.entries.map(({ name, value }): ToolConfigField => {
    const { description, secret, required } = value
    return {
      key: name,
      description: description ?? '',
      isSecret: secret ?? false,
      isRequired: required ?? false,
      default: value.default ?? null,
    }
  })
  const network = readNetwork(written, configuration, findings)
  const manifest: ToolManifest = {
    name: written.name,
    description: written.description,
    documentation: written.documentation ?? null,
    version: written.version == null ? null : String(written.version),
    category: written.category ?? null,
    icon: readIcon(written.icon, findings),
    trigger: readTrigger(written, findings),
    parameters: parameters.entries.map(({ name, value }) => toParameter(name, value, findings)),
    configuration,
    output: {
      synthesize: written.output?.synthesize ?? true,
      ephemeral: written.output?.ephemeral ?? false,
      label: readLabel(written, network.mode, findings),
      card: readCard(written),
    },
    network,
    limits: readLimits(written, findings),
    costBudget: written.constraints?.cost_budget ?? null,
    input: written.input ?? 'argument',
    notifies: written.notification?.default_enabled ?? true,
    written: json as JsonObject,
  }
  return problems.length > 0 ? wrong(problems) : { ok: true, manifest, notes }
}

function wrong(problems: readonly string[]): ManifestReading {
  return { ok: false, problem: `manifest.json: ${problems.join('; ')}` }
}

function checkName(name: string, folder: string, { problem }: Findings): void {
  if (name !== folder) problem('name', `the name of its folder, ${JSON.stringify(folder)}`, name)
  if (isReservedName(name)) problem('name', 'one that Familiar does not keep for itself', name)
}

/** Whatever a model or the owner decides by must be what it looks like. */
function checkHidden(written: WrittenManifest, problems: string[]): void {
  const { description, documentation, category, trigger, parameters, config_schema, output } = written
  const shown = { description, documentation, category, trigger, parameters, config_schema, output } as JsonObject
  for (const [section, value] of Object.entries(shown)) {
    const found = findHiddenIn(value ?? null, section)
    if (found) problems.push(`${found.path}: expected characters that can be seen, found ${found.character}`)
  }
}

function readTrigger(written: WrittenManifest, { problem }: Findings): ToolTrigger {
  const { type, schedule, prompt } = written.trigger
  if (type === 'on_demand') return { type }
  if (type === 'webhook') return { type, prompt: prompt ?? null }
  // In which time zone it is kept is not for the manifest to say.
  const isSchedule = schedule != null && parseCronExpression(schedule, 'UTC').ok
  if (!isSchedule) problem('trigger.schedule', 'a schedule such as "*/30" or "0 7 * * 1-5"', schedule ?? undefined)
  if (!prompt) problem('trigger.prompt', 'the words that its output is handed over with', prompt)
  return { type, schedule: schedule ?? '', prompt: prompt ?? '' }
}

function toParameter(name: string, value: ReturnType<typeof parameterSchema.parse>, { problem }: Findings) {
  // Given by Familiar itself; whoever calls must not be able to.
  if (name === '_state' || name === '_webhook') problem(`parameters.${name}`, 'a name that is not kept', name)
  const parameter: ToolParameter = {
    name,
    type: value.type ?? 'string',
    description: value.description ?? '',
    isRequired: value.required ?? false,
  }
  if (value.default != null) parameter.default = value.default
  if (value.enum) parameter.choices = value.enum
  if (value.items) parameter.items = value.items
  return parameter
}

/** Only a tool that nobody outside can speak through may vouch for its words. */
function readLabel(written: WrittenManifest, network: string, { note }: Findings): 'internal' | 'untrusted' {
  if (written.output?.label !== 'internal') return 'untrusted'
  if (network === 'none' && written.trigger.type !== 'webhook') return 'internal'
  note('output.label: what a tool with a network or a webhook tells stays untrusted')
  return 'untrusted'
}

function readCard({ output }: WrittenManifest): ToolManifest['output']['card'] {
  return {
    isEnabled: output?.card?.enabled ?? false,
    title: output?.card?.title ?? null,
    accentColor: output?.card?.accent_color ?? null,
    backgroundColor: output?.card?.background_color ?? null,
  }
}

const mostIconCharacters = 64

function readIcon(icon: unknown, { note }: Findings): string | null {
  if (icon == null || icon === '') return null
  const isName = typeof icon === 'string' && icon.length <= mostIconCharacters && !/[/:<>\\]/.test(icon)
  if (isName) return icon
  note('icon: left out; an emoji or the name of an icon is shown, and nothing is loaded from elsewhere')
  return null
}
