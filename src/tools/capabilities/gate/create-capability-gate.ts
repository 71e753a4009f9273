import type { Logger } from '../../../base/logger.ts'
import type { Json } from '../../../protocol/json.ts'
import type { Sandbox } from '../../../sandbox/sandbox.ts'
import type { Redactor } from '../../../secrets/redactor.ts'
import type { CapabilityFiles, CapabilityManifest } from '../capability.ts'
import type { CapabilityCatalog } from '../catalog/catalog.ts'
import type { CapabilityExecutor, Runnable } from '../execute/executor.ts'
import { checkFiles } from '../versions/capability-files.ts'
import { completeFiles } from './complete-files.ts'
import type { CapabilityGate, ExampleResult, GateVerdict } from './gate.ts'
import { inspectCode } from './inspect-code.ts'
import { type Inspection, inspectFiles } from './inspect-files.ts'
import { runExamples } from './run-examples.ts'
import { createStagedFiles } from './staged-files.ts'
import { whyTaken } from './why-taken.ts'

interface Examination {
  userId: string
  mustTry?: Json | undefined
  onProgress?: ((line: string) => void) | undefined
  signal: AbortSignal
}
type Refused = Extract<GateVerdict, { ok: false }>

export function createCapabilityGate(dependencies: {
  executor: Pick<CapabilityExecutor, 'run' | 'prepare'>
  catalog: Pick<CapabilityCatalog, 'find' | 'publish'>
  sandbox: Sandbox
  redactor: Pick<Redactor, 'redact'>
  /** A folder of this program alone, for files while they are looked at. */
  directory: string
  logger: Logger
}): CapabilityGate {
  const { executor, catalog, sandbox, redactor, logger } = dependencies
  const staged = createStagedFiles(dependencies)

  /** Everything that is refused goes to a model or a screen. */
  function refuse(problems: readonly string[], examples: readonly ExampleResult[] = []): Refused {
    const told = examples.map((example) => ({ ...example, detail: redactor.redact(example.detail) }))
    return { ok: false, problems: problems.map(redactor.redact), examples: told }
  }

  /**
   * From files to a verdict. First all that reading tells, in one go: whoever mends it should not have to come back for each
   * line. Where that found nothing, `examine` gets the files as they would become a version, in a folder that nobody changes.
   */
  async function judge(
    given: CapabilityFiles,
    { mustTry, whyNot, firstAt, signal }: Pick<Examination, 'mustTry' | 'signal'> & Naming,
    examine: (inspected: Required<Inspection>, directory: string) => Promise<GateVerdict>,
  ): Promise<{ verdict: GateVerdict; files: CapabilityFiles }> {
    const read = inspectFiles(given, { redactor, mustTry })
    const { manifest } = read
    if (!manifest) return { verdict: refuse(read.problems), files: given }
    const files = completeFiles(given, { manifest, firstAt: firstAt?.(manifest) })
    const inspected = { ...read, manifest }
    const verdict = await staged.with(files, async (directory) => {
      const ofCode = await inspectCode({ ...inspected, directory, files }, { sandbox, signal })
      const problems = [whyNot?.(manifest) ?? [], checkFiles(files), read.problems, ofCode].flat()
      return problems.length > 0 ? refuse(problems) : await examine(inspected, directory)
    })
    return { verdict, files }
  }

  async function tryOut(
    { manifest, requirements, examples }: Required<Inspection>,
    directory: string,
    { userId, onProgress = () => {}, signal }: Examination,
  ): Promise<GateVerdict> {
    onProgress('The files are as they should be.')
    if (requirements.length > 0) onProgress(`Installing ${requirements.join(', ')}.`)
    const prepared = await executor.prepare({ manifest, requirements }, signal)
    if (!prepared.ok) return refuse([`requirements.txt: ${prepared.problem}`])
    const runnable: Runnable = { name: manifest.name, manifest, directory, requirements }
    const ran = await runExamples({ userId, runnable, examples }, { executor, sandbox, onProgress, signal })
    if (ran.problems.length > 0) return refuse(ran.problems, ran.results)
    return { ok: true, manifest, requirements, examples: ran.results }
  }

  return {
    async inspect(files, signal) {
      const { verdict } = await judge(files, { signal }, async ({ manifest, requirements }) => ({
        ok: true,
        manifest,
        requirements,
        examples: [],
      }))
      return verdict
    },
    async check(files, options) {
      const { verdict } = await judge(files, options, (...draft) => tryOut(...draft, options))
      return verdict
    },
    async register(given, options) {
      const { userId, origin, name: wanted, buildId = null, also } = options
      const naming: Naming = {
        whyNot: ({ name }) => whyTaken(name, { wanted, origin, existing: catalog.find(userId, name) }),
        firstAt: ({ name }) => catalog.find(userId, name)?.createdAt,
      }
      // A repair changes nothing about where a capability comes from, and what that says of it.
      const kept = ({ name }: CapabilityManifest) => (buildId === null ? undefined : catalog.find(userId, name)?.origin)
      const { verdict, files } = await judge(given, { ...options, ...naming }, (...draft) => tryOut(...draft, options))
      if (!verdict.ok) {
        logger.info('a capability was refused', { origin, problems: verdict.problems.length })
        return verdict
      }
      const { manifest, examples } = verdict
      const published = await catalog.publish({
        userId,
        manifest,
        files,
        origin: kept(manifest) ?? origin,
        buildId,
        state: 'active',
        ...(also && { also }),
      })
      return { ok: true, ...published, examples }
    },
  }
}

/** What the catalog has to say about a name. */
interface Naming {
  whyNot?: (manifest: CapabilityManifest) => string | undefined
  firstAt?: (manifest: CapabilityManifest) => number | undefined
}
