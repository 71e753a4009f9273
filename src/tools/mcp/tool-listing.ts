import { z } from 'zod'
import type { Json } from '../../protocol/json.ts'
import { isDeeperThan } from '../contract/json-depth.ts'
import { findHiddenIn } from '../contract/manifest/hidden-characters.ts'

const mostTools = 200
const longestName = 128
const longestDescription = 8_000
const largestSchema = 64 * 1024
const deepestSchema = 20

const jsonObject = z.record(z.string(), z.custom<Json>())

/** A tool as its server describes it: what the owner approves, and what is put into the fingerprint. */
export const listedToolSchema = z.object({
  name: z.string().min(1).max(longestName),
  title: z.string().max(longestName).optional(),
  description: z.string().max(longestDescription).optional(),
  inputSchema: jsonObject,
  outputSchema: jsonObject.optional(),
  annotations: z
    .object({
      title: z.string().max(longestName).optional(),
      readOnlyHint: z.boolean().optional(),
      destructiveHint: z.boolean().optional(),
      idempotentHint: z.boolean().optional(),
      openWorldHint: z.boolean().optional(),
    })
    .optional(),
})
export type ListedTool = z.infer<typeof listedToolSchema>

export type ToolListing = { ok: true; tools: ListedTool[] } | { ok: false; problem: string }

/**
 * What a server lists, held to limits. One tool that hides something, or is too large to be read by the owner, refuses
 * the whole server: nobody knows what else such a server does (SEC-14).
 */
export function readToolListing(listed: readonly unknown[]): ToolListing {
  if (listed.length > mostTools) return refused(`It lists ${listed.length} tools; at most ${mostTools} are taken.`)
  const tools: ListedTool[] = []
  for (const [index, given] of listed.entries()) {
    const problem = tooMuch(given)
    if (problem) return refused(`Its ${ordinal(index)} tool ${problem}`)
    const read = listedToolSchema.safeParse(given)
    if (!read.success) {
      const [issue] = read.error.issues
      return refused(`Its ${ordinal(index)} tool is not understood: ${issue?.path.join('.')}: ${issue?.message}`)
    }
    const hidden = findHiddenIn(read.data as Json, 'tool')
    if (hidden) {
      return refused(
        `Its ${ordinal(index)} tool holds a character that nobody sees (${hidden.character}), in ${hidden.path}.`,
      )
    }
    if (tools.some((tool) => tool.name === read.data.name)) {
      return refused(`It lists two tools named ${JSON.stringify(read.data.name)}.`)
    }
    tools.push(read.data)
  }
  return { ok: true, tools: tools.sort((a, b) => (a.name < b.name ? -1 : 1)) }
}

function tooMuch(given: unknown): string | undefined {
  if (isDeeperThan(given as Json, deepestSchema)) return `is nested more than ${deepestSchema} levels deep.`
  const size = JSON.stringify(given)?.length ?? 0
  return size > largestSchema ? `has ${size} characters; at most ${largestSchema} are taken.` : undefined
}

function refused(problem: string): { ok: false; problem: string } {
  return { ok: false, problem: problem.toWellFormed() }
}

function ordinal(index: number): string {
  return `${index + 1}.`
}
