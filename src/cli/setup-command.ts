import { existsSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { parse } from 'smol-toml'
import { writeFileAtomically } from '../base/safe-file.ts'
import { type ConfigFiles, diskFiles } from '../daemon/config/config-files.ts'
import { formatProblems } from '../daemon/config/config-problem.ts'
import { loadConfig } from '../daemon/config/load-config.ts'
import type { Settings } from '../daemon/config/settings-schema.ts'
import { readDaemonInfo } from '../daemon/daemon-info.ts'
import { openHome } from '../daemon/home.ts'
import { type HomePaths, homePaths } from '../daemon/home-paths.ts'
import type { ProviderSettings } from '../models/model-settings.ts'
import { type ExitCode, exitCodes } from './command-error.ts'
import type { Output } from './output.ts'
import { type DraftFile, draftSetup } from './setup-draft.ts'
import { openTerminalPrompts, type SetupPrompts } from './setup-prompts.ts'
import { askForSetup } from './setup-questions.ts'

export interface SetupOptions {
  home: string
  env: Readonly<Record<string, string | undefined>>
  output: Output
  /** Whether somebody is there to answer. */
  isInteractive: boolean
  now: () => number
  prompts?: SetupPrompts
  /** Keys and servers that are there already. */
  discover?: (environment: Record<string, string | undefined>) => Promise<ProviderSettings[]>
}

/** The wizard: asks for a model and a budget, shows what it would write, and writes it when told to. Never required. */
export async function runSetup(options: SetupOptions): Promise<ExitCode> {
  const { home, env, output, now } = options
  const paths = homePaths(home)
  if (!options.isInteractive) {
    const hint = `Write ${paths.config} and ${paths.providers}/NAME.toml yourself, or set a key such as ANTHROPIC_API_KEY.`
    return output.fail('Setup asks questions, and there is no terminal to ask them on.', hint, exitCodes.usage)
  }
  const loaded = loadConfig({ home, env })
  if (!loaded.ok) {
    for (const line of formatProblems(loaded.problems, home)) output.note(line)
    return output.fail(
      'The configuration has mistakes.',
      'Mend those first: setup keeps what is there.',
      exitCodes.failed,
    )
  }

  const prompts = options.prompts ?? (await openTerminalPrompts())
  prompts.begin('Familiar setup')
  const found = await (options.discover ?? discoverHere)(loaded.environment)
  const { perDayUsd } = loaded.config.budget
  const answers = await askForSetup(prompts, { found, env, environment: loaded.environment, perDayUsd })
  if (!answers) return leave(prompts)

  const draft = draftSetup(answers, { paths, read: diskFiles.read, load: namedProviders(paths) })
  if (!draft.ok) return output.fail(draft.message, undefined, exitCodes.failed)
  const checked = loadConfig({ home, env, files: withDrafts(draft.files) })
  if (!checked.ok) {
    for (const line of formatProblems(checked.problems, home)) output.note(line)
    return output.fail('That would not work, so nothing was written.', undefined, exitCodes.failed)
  }

  for (const file of draft.files) prompts.show(relative(paths.root, file.path), file.shown)
  if (!(await prompts.confirm(`Write this to ${paths.root}?`))) return leave(prompts)

  const opened = await openHome(home)
  if (!opened.ok) return output.fail(opened.message, opened.hint, exitCodes.failed)
  for (const file of draft.files) {
    if (existsSync(file.path) && file.path !== paths.environment)
      await copyFile(file.path, backupName(file.path, now()))
    await writeFileAtomically(file.path, file.text)
  }
  const daemon = readDaemonInfo(home)
  prompts.end(daemon ? `Done. It takes effect with: kill -HUP ${daemon.pid}` : 'Done. Start it: npm start')
  return exitCodes.fine
}

function leave(prompts: SetupPrompts): ExitCode {
  prompts.end('Nothing was written.')
  return exitCodes.interrupted
}

async function discoverHere(environment: Record<string, string | undefined>): Promise<ProviderSettings[]> {
  const { discoverProviders, localServers } = await import('../models/discover.ts')
  const { createGuardedFetch } = await import('../egress/guarded-fetch.ts')
  const fetch = createGuardedFetch({ allowedHosts: localServers })
  try {
    return await discoverProviders({ env: environment, fetch })
  } finally {
    await fetch.close()
  }
}

/** Undefined where every provider file counts: naming the new one alone would switch the others off. */
function namedProviders(paths: HomePaths): readonly string[] | undefined {
  const { providers } = parse(diskFiles.read(paths.config) ?? '') as Partial<Settings>
  return providers?.load
}

/** The files as they would be. */
function withDrafts(drafts: readonly DraftFile[]): ConfigFiles {
  const textOf = (path: string) => drafts.find((draft) => draft.path === path)?.text
  return {
    ...diskFiles,
    read: (path) => textOf(path) ?? diskFiles.read(path),
    list(directory) {
      const drafted = drafts.filter((draft) => draft.path.startsWith(`${directory}/`))
      return [
        ...new Set([...diskFiles.list(directory), ...drafted.map((draft) => relative(directory, draft.path))]),
      ].sort()
    },
  }
}

/** Beside the file: `familiar.toml.2026-11-15T10-00-00.bak`. */
function backupName(path: string, now: number): string {
  return `${path}.${new Date(now).toISOString().slice(0, 19).replaceAll(':', '-')}.bak`
}
