import { z } from 'zod'
import { toStorableText } from '../../../base/text.ts'
import { defineTool, succeeded } from '../../define-tool.ts'
import type { Tool } from '../../tool.ts'
import { type BuilderNeeds, runningBuildOf } from './builder-needs.ts'

export function createWriteFile({ desk, files }: BuilderNeeds): Tool {
  return defineTool({
    name: 'write_file',
    description: 'Write a file of the capability, whole, in place of what was there.',
    input: z.object({ path: z.string().min(1), content: z.string() }),
    effect: 'idempotent',
    serial: true,
    core: true,
    async run({ path, content }, context) {
      const build = await runningBuildOf(desk, context)
      const text = toStorableText(content)
      await files.write({ buildId: build.id, path, content: text })
      const written = `${path} is written, ${Buffer.byteLength(text)} bytes.`
      await desk.report(build, { callId: context.callId, message: written })
      return succeeded(written)
    },
  })
}
