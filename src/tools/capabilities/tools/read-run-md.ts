import { z } from 'zod'
import { truncateText } from '../../../base/text.ts'
import { defineTool, failed, succeeded } from '../../define-tool.ts'
import type { Tool } from '../../tool.ts'
import type { CapabilityCatalog } from '../catalog/catalog.ts'
import { readText } from '../versions/capability-files.ts'

const longestText = 6_000

export function createReadRunMd({ catalog }: { catalog: CapabilityCatalog }): Tool {
  return defineTool({
    name: 'read_run_md',
    description: 'Read how a tool that you have built is used: its RUN.md.',
    input: z.object({ name: z.string() }),
    effect: 'idempotent',
    async run({ name }, { userId }) {
      const capability = catalog.find(userId, name.replace(/^cap_/, ''))
      const version = capability && (await catalog.version(userId, capability.name))
      if (!version) return failed(`There is no capability named ${name} that serves.`)
      const reading = await catalog.read(version)
      if (!reading.ok) return failed(reading.problem)
      const text = readText(reading.files, 'RUN.md')
      if (text === undefined) return failed(`${capability.name} has no RUN.md.`)
      const label = capability.origin === 'imported' ? 'untrusted' : 'internal'
      return { ...succeeded(truncateText(text, longestText)), label }
    },
  })
}
