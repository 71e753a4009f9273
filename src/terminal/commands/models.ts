import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { ensurePrivateDirectory } from '../../base/files.ts'
import { createIds } from '../../base/ids.ts'
import { findProgram } from '../../base/processes.ts'
import { formatCount, formatDuration } from '../../base/text.ts'
import { nearestName } from '../../daemon/config/toml.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { knownPackages, pinnedPackages } from '../../models/ai-sdk-packages.ts'
import type { LanguageModel } from '../../models/model.ts'
import { createModelSet, type ModelSet } from '../../models/model-set.ts'
import { home, type ModelsReply } from '../../protocol/status.ts'
import { type CommandContext, CommandError, type CommandHandler, exitCodes, messageOf } from '../command.ts'
import { apiCommand } from '../connect.ts'
import { definedVariables, requireConfig, runProgram } from '../local-home.ts'
import { storedKeys } from '../open-beside.ts'
import { describeEffect, writeSetting } from './config.ts'

/** The models that are configured or were found, and their use. */
export const listModels = apiCommand(
  home,
  (api) => api.models(),
  (reply, { style, commandLine }) => ({
    header: ['Model', 'Used for', 'API key', 'Context', 'Price per million tokens (in / out)'],
    rows: reply.models.map(({ id, has_key, max_context_tokens, cost_per_mtok: cost }) => [
      id === reply.current ? style('bold', id) : id,
      usesOf(reply, id),
      has_key === false ? style('yellow', 'missing') : has_key ? 'set' : '',
      formatCount(max_context_tokens),
      cost ? `$${cost.input} / $${cost.output}` : 'unknown',
    ]),
    note: `To choose the model that answers: ${commandLine('models use MODEL')}`,
  }),
)

function usesOf({ current, routes }: ModelsReply, id: string): string {
  const used = routes.flatMap(({ name, models }) => {
    const at = models.indexOf(id)
    return at < 0 ? [] : [at === 0 ? name : `${name} (fallback)`]
  })
  return used.length === 0 && id === current ? 'primary' : used.join(', ')
}

const testMs = 60_000

/** One short request, outside of any session. */
export const testModel: CommandHandler<{ model?: string }> = async (context, input) => {
  const { output, signal } = context
  const tested = await withModels(context, async (models) => {
    const model = input.model === undefined ? models.route('primary')[0] : models.byId(input.model)
    if (!model) throw unknownModel(input.model, models)
    const startedAt = performance.now()
    const problem = await tryRequest(model, AbortSignal.any([signal, AbortSignal.timeout(testMs)]))
    return { model: model.info.id, ok: problem === undefined, problem, ms: Math.round(performance.now() - startedAt) }
  })
  if (input.json) output.printJson({ ...tested, problem: tested.problem ?? null })
  else if (tested.ok) output.print(`${tested.model} answered in ${formatDuration(tested.ms)}.`)
  else {
    const hint = 'Check the API key and the address: familiar doctor --network'
    output.fail(`${tested.model} did not answer: ${tested.problem}`, hint, exitCodes.failed)
  }
  return tested.ok ? undefined : exitCodes.failed
}

async function tryRequest(model: LanguageModel, signal: AbortSignal): Promise<string | undefined> {
  const message = { role: 'user' as const, parts: [{ type: 'text' as const, text: 'Reply with the word OK.' }] }
  const loadMedia = async () => new Uint8Array()
  try {
    for await (const event of model.stream(
      { system: [], messages: [message], tools: [], maxTokens: 200, loadMedia },
      signal,
    ))
      if (event.type === 'finished') return undefined
    return 'The reply ended early.'
  } catch (cause) {
    if (signal.aborted) return `No reply within ${formatDuration(testMs)}.`
    return messageOf(cause)
  }
}

/** Sets `routes.primary`. Fallbacks that stand behind it there stay. */
export const useModel: CommandHandler<{ model: string }> = async (context, input) => {
  const { output } = context
  const fallbacks = await withModels(context, async (models) => {
    if (!models.byId(input.model)) throw unknownModel(input.model, models)
    const [, ...rest] = models.route('primary').map(({ info }) => info.id)
    return rest.filter((id) => id !== input.model && id !== 'offline/offline')
  })
  const value = fallbacks.length > 0 ? [input.model, ...fallbacks] : input.model
  const { effect } = await writeSetting(context, ['routes', 'primary'], [value])
  return output.report(input.json, { model: input.model, fallbacks, ...effect }, () => {
    output.print(`${input.model} answers${fallbacks.length > 0 ? `; fallback: ${fallbacks.join(', ')}` : ''}.`)
    for (const line of describeEffect(context, effect)) output.note(line)
    if (context.env.FAMILIAR_MODEL) output.note('FAMILIAR_MODEL in the environment overrides it.')
  })
}

function unknownModel(id: string | undefined, models: ModelSet): CommandError {
  const known = models.list().map(({ info }) => info.id)
  const near = nearestName(id ?? '', known)
  const hint = near ? `Did you mean ${near}?` : `Models: ${known.join(', ')}. To add a provider: familiar setup`
  return new CommandError(`There is no model ${JSON.stringify(id ?? '')}.`, { code: 'not_found', hint })
}

/** The models as a start would find them, without a daemon. */
async function withModels<T>(context: CommandContext, work: (models: ModelSet) => Promise<T>): Promise<T> {
  const { config, environment } = requireConfig(context, await storedKeys(context))
  const models = openModels(context)
  try {
    await models.use(config, environment)
    return await work(models)
  } finally {
    await models.close()
  }
}

/** Models without a configuration yet. */
export function openModels(context: CommandContext): ModelSet {
  const installCommand = (name: string) => context.output.commandLine(`models install ${name}`)
  const packages = { directory: homePaths(context.homePath).packages, installCommand }
  return createModelSet({ ids: createIds(systemClock()), addSecret: () => undefined, packages })
}

const flags = ['--ignore-scripts', '--save-exact', '--no-audit', '--no-fund', '--loglevel=error']
const maxInstallMs = 10 * 60_000

/** Installs one of the known packages, in its one version and without scripts, into `packages/` of the home. */
export const installPackage: CommandHandler<{ package: string }> = async (context, input) => {
  const { homePath, env, output, signal } = context
  const pinned = pinnedPackages(input.package)
  const [wanted] = pinned
  if (wanted === undefined) {
    throw new CommandError(`${input.package} cannot be installed here.`, {
      code: 'bad_request',
      hint: `Choose one of: ${knownPackages.join(', ')}`,
    })
  }
  const npm = await findNpmCommand(env)
  if (!npm) {
    throw new CommandError('npm was not found.', { code: 'unavailable', hint: 'Install Node.js with npm, then retry.' })
  }
  const directory = homePaths(homePath).packages
  await ensurePrivateDirectory(directory)
  const manifest = join(directory, 'package.json')
  if (!existsSync(manifest)) await writeFile(manifest, '{ "private": true }\n', { mode: 0o600 })
  output.note(`Installing ${wanted} …`)
  const { isFine, outcome } = await runProgram({
    argv: [...npm, 'install', ...pinned, ...flags, '--prefix', directory],
    environment: definedVariables(env),
    workingDirectory: directory,
    wallMs: maxInstallMs,
    signal,
  })
  const installed = join(directory, 'node_modules', input.package, 'package.json')
  if (!isFine || !existsSync(installed)) {
    const said = Buffer.from(outcome.stderr).toString('utf8').trim().split('\n').slice(0, 4).join(' ')
    throw new CommandError(`${wanted} could not be installed: ${said || 'npm failed'}`, {
      code: 'unavailable',
      hint: 'Check the network connection and the registry of npm, then retry.',
    })
  }
  const { version } = JSON.parse(await readFile(installed, 'utf8')) as { version: string }
  return output.report(
    input.json,
    { package: input.package, version, directory },
    `${input.package} ${version} is installed. Use it with type = "ai-sdk" in providers.d/NAME.toml.`,
  )
}

/**
 * The command that starts npm: the one that belongs to this Node, otherwise one on the search path, as the launcher has it.
 * Undefined if there is none.
 */
export async function findNpmCommand(
  env: Readonly<Record<string, string | undefined>>,
  node = process.execPath,
): Promise<[string, ...string[]] | undefined> {
  const program = join('node_modules', 'npm', 'bin', 'npm-cli.js')
  const folder = dirname(node)
  const beside = [join(folder, program), join(folder, '..', 'lib', program)].find((file) => existsSync(file))
  if (beside !== undefined) return [node, beside]
  const found = await findProgram(['npm'], env.PATH ?? '')
  return found === undefined ? undefined : [found]
}
