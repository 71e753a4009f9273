import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createSkills } from '../../src/custom-tools/skills.ts'
import type { Json } from '../../src/protocol/messages.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import type { ToolOutcome } from '../../src/tools/tool.ts'
import { openTestDatabase } from './open-test-database.ts'
import { toolContext } from './tool-context.ts'
import { fileless, noPackages } from './workbench.ts'

export function skillText(name: string, more = '', body = `Do as ${name} says.`): string {
  return `---\nname: ${name}\ndescription: What ${name} is for.\n${more}---\n${body}\n`
}

/** Skills over a real database and real folders: those of the workspace, and `elsewhere` as the configuration names it. */
export async function openSkills({ sandbox }: { sandbox: Sandbox }) {
  const home = mkdtempSync(join(tmpdir(), 'familiar-skills-'))
  const directory = join(home, 'workspace', 'skills')
  const elsewhere = join(home, 'elsewhere')
  const clock = systemClock()
  const database = await openTestDatabase({ directory: home, clock })
  const switches = { isEnabled: true }
  const open = () =>
    createSkills({
      directory,
      directories: () => [elsewhere],
      cacheDirectory: join(home, 'cache'),
      isEnabled: () => switches.isEnabled,
      sandbox,
      workbench: fileless({ sandbox, clock }),
      packagesOf: noPackages,
      ownerId: 'max',
      database,
      clock,
      logger: silentLogger,
    })
  let skills = open()

  return {
    home,
    directory,
    elsewhere,
    switches,
    get skills() {
      return skills
    },
    write(folder: string, files: Record<string, string | Uint8Array>, root = directory): void {
      for (const [path, content] of Object.entries(files)) {
        const target = join(root, folder, path)
        mkdirSync(dirname(target), { recursive: true })
        // As editors do it: whole, and under another name first.
        writeFileSync(`${target}.new`, content, { mode: path.endsWith('.sh') ? 0o755 : 0o644 })
        renameSync(`${target}.new`, target)
      }
    },
    /** Like a restart of the process. */
    async restart(): Promise<void> {
      await skills.close()
      skills = open()
      await skills.reload()
    },
    /** Waits for changes to be taken in until they have led there. */
    async until(isThere: () => boolean): Promise<void> {
      while (!isThere()) {
        await new Promise<void>((resolve) => {
          const stop = skills.onChange(() => {
            stop()
            resolve()
          })
        })
      }
    },
    async call(name: string, input: Json): Promise<ToolOutcome> {
      const tool = skills.tools.find(({ definition }) => definition.name === name)
      if (!tool) throw new Error(`there is no tool ${name}`)
      return await tool.run(input, toolContext())
    },
    async close(): Promise<void> {
      await skills.close()
      await database.close()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

export type SkillsHome = Awaited<ReturnType<typeof openSkills>>
