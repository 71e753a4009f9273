import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { writeFileAtomically } from '../../base/files.ts'
import { diskFiles } from '../../daemon/config/config.ts'
import { draftSetting, type EditedHome, problemsOf } from '../../daemon/config/edit-config.ts'
import { renamedKeys } from '../../daemon/config/settings-schema.ts'
import { currentPath, dottedKey, nearestName, type TomlValue } from '../../daemon/config/toml.ts'
import { describeSettings } from '../../daemon/home-desk.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import type { Setting } from '../../protocol/status.ts'
import { type CommandContext, CommandError, type CommandHandler, confirm, openEditor, usageError } from '../command.ts'
import { requireConfig, requireHome } from '../local-home.ts'
import { describeReload, reloadDaemon } from './daemon.ts'

/** The keys that are set, and their place. `get` also knows the others. */
export const listConfig: CommandHandler<object> = async (context, input) => {
  const settings = readSettings(context).filter(({ origin }) => origin !== 'default')
  return context.output.report(
    input.json,
    { home: context.homePath, settings },
    {
      empty: 'All settings have their default. To set one: familiar config set KEY VALUE',
      header: ['Key', 'Value', 'Set in'],
      rows: settings.map(({ key, value, place }) => [key, value ?? '(hidden)', place ?? '']),
    },
  )
}

/** Prints the value alone, for scripts. The name of a table prints all of its keys. */
export const getConfig: CommandHandler<{ key?: string }> = async (context, input) => {
  const { output } = context
  const settings = readSettings(context)
  const named = input.key === undefined ? undefined : currentKey(input.key)
  const found = settings.find(({ key }) => key === named)
  if (found) return output.report(input.json, found, plainValue(found.value))
  const table = named === undefined ? settings : settings.filter(({ key }) => key.startsWith(`${named}.`))
  if (named !== undefined && table.length === 0) throw unknownKey(named, settings)
  const rows = table.map(({ key, value }) => [key, value ?? '(hidden)'])
  return output.report(input.json, { settings: table }, () => output.printTable(rows))
}

/** The value is checked before it is written, in use at once if Familiar runs. */
export const setConfig: CommandHandler<{ key: string; value: string }> = async (context, input) => {
  const { output } = context
  const written = await writeSetting(context, keyPath(input.key), readValues(input.value))
  if (input.json) return output.printJson({ key: input.key, value: written.value, ...written.effect })
  output.print(`${input.key} = ${JSON.stringify(written.value)}`)
  for (const line of describeEffect(context, written.effect)) output.note(line)
  const place = readSettings(context).find(({ key }) => key === currentKey(input.key))
  if (place?.origin === 'environment') output.note(`${place.place} overrides it.`)
  return undefined
}

/** Edits a copy, which replaces the file when it has no problems. */
export const editConfig: CommandHandler<object> = async (context) => {
  const { output } = context
  const { config } = await requireHome(context)
  const directory = await mkdtemp(join(tmpdir(), 'familiar-config-'))
  const draft = join(directory, 'familiar.toml')
  try {
    const before = diskFiles.read(config) ?? ''
    if (before === '') await writeFileAtomically(draft, '')
    else await copyFile(config, draft)
    for (;;) {
      await openEditor(context, draft)
      const text = await readFile(draft, 'utf8')
      if (text === before) {
        output.note('Nothing was changed.')
        return undefined
      }
      const problems = problemsOf(editedHome(context), text)
      if (problems.length === 0) {
        await writeFileAtomically(config, text)
        break
      }
      for (const line of problems) output.note(line)
      if (!(await confirm(context, 'Edit it again?', { byDefault: true })))
        throw new CommandError('The file has problems, so nothing was changed.', { code: 'config' })
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
  for (const line of describeEffect(context, await applyConfig(context))) output.print(line)
  return undefined
}

export const printPath: CommandHandler<object> = async ({ homePath, output }, input) => {
  const { config, environment, providers } = homePaths(homePath)
  return output.report(input.json, { config, environment, providers }, config)
}

type Effect = { applied: boolean; restart_needed: string[]; lines: string[] }

/** Writes the first of the values that the configuration allows. Comments and order of the file stay. */
export async function writeSetting(
  context: CommandContext,
  path: readonly string[],
  values: readonly TomlValue[],
): Promise<{ value: TomlValue; effect: Effect }> {
  const file = homePaths(context.homePath).config
  const draft = draftSetting(editedHome(context), path, values)
  if (draft.ok && draft.value !== null) {
    await requireHome(context)
    await writeFileAtomically(file, draft.text)
    return { value: draft.value, effect: await applyConfig(context) }
  }
  if (!draft.ok && draft.reason === 'not_editable') {
    throw new CommandError(`${file} cannot be changed without touching other keys.`, {
      code: 'config',
      hint: `Edit it yourself: ${context.output.commandLine('config edit')}`,
    })
  }
  const problems = draft.ok ? [] : draft.problems
  throw new CommandError(['The change is not allowed, so nothing was written:', ...problems].join('\n  '), {
    code: 'config',
    hint: `Keys and values: ${context.output.commandLine('config get TABLE')}`,
  })
}

function editedHome({ homePath: home, env }: CommandContext): EditedHome {
  return { home, env }
}

async function applyConfig(context: CommandContext): Promise<Effect> {
  const reply = await reloadDaemon(context).catch(() => undefined)
  if (!reply) return { applied: false, restart_needed: [], lines: [] }
  return { applied: reply.ok, restart_needed: reply.restart_needed, lines: describeReload(reply) }
}

export function describeEffect(context: CommandContext, { applied, lines }: Effect): string[] {
  return applied ? lines : [`It takes effect when Familiar starts: ${context.output.commandLine('start')}`]
}

function readSettings(context: CommandContext): Setting[] {
  const { homePath: home, env } = context
  return describeSettings({ home, env, flags: {}, config: requireConfig(context).config })
}

function unknownKey(key: string, settings: readonly Setting[]): CommandError {
  const tables = settings.map((setting) => setting.key.replace(/\.[^.]+$/, ''))
  const near = nearestName(key, [...settings.map((setting) => setting.key), ...tables])
  const hint = near
    ? `Did you mean ${near}?`
    : `Tables: ${[...new Set(tables.map((one) => one.split('.')[0]))].join(', ')}`
  return new CommandError(`There is no key ${JSON.stringify(key)} in the configuration, or it is not set.`, {
    code: 'not_found',
    hint,
  })
}

/** The parts of a key as TOML reads it, so that a part in quotes may have dots. */
function keyPath(key: string): string[] {
  try {
    const path: string[] = []
    for (let level: unknown = parse(`${key} = 0`); typeof level === 'object' && level !== null; ) {
      const [[part = '', inner] = []] = Object.entries(level)
      path.push(part)
      level = inner
    }
    return path
  } catch {
    throw usageError(`${JSON.stringify(key)} is not a key.`, 'A key is written like budget.per_day_usd.')
  }
}

/** The current name of a key, which is what a list of settings has. */
function currentKey(key: string): string {
  return dottedKey(currentPath(keyPath(key), renamedKeys))
}

/** As TOML reads it, and as text: `5` is a number where one is expected, and a name where a name is. */
function readValues(text: string): TomlValue[] {
  try {
    const { value } = parse(`value = ${text}`)
    const isPlain = ['string', 'number', 'boolean'].includes(typeof value) || Array.isArray(value)
    return isPlain ? [value as TomlValue, text] : [text]
  } catch {
    return [text]
  }
}

function plainValue(json: string | null): string {
  if (json === null) return '(hidden)'
  const value: unknown = JSON.parse(json)
  return typeof value === 'string' ? value : json
}
