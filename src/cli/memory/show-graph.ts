import type { GraphReply } from '../../protocol/fact-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { usageError } from '../command-error.ts'
import { shortText } from './describe-memory.ts'
import { withMemory } from './with-memory.ts'

export interface GraphInput {
  id?: string
  depth: number
  link?: string
  unlink?: string
  relation: string
}

const mostNodes = 100

export const showGraph: CommandHandler<GraphInput> = async (context, input) => {
  const { output } = context
  const { id, depth } = input
  const other = input.link ?? input.unlink
  if (other !== undefined) {
    if (id === undefined) throw usageError('An edge has two ends.', 'familiar memory graph ID --link OTHER')
    return changeEdge(context, { ...input, id, other })
  }
  const reply = await withMemory(context, (memory) => memory.graph({ ids: id, depth, limit: mostNodes }))
  if (input.json) output.printJson(reply)
  else if (reply.edges.length === 0) output.print('Nothing is joined to anything here.')
  else for (const line of id === undefined ? drawEdges(reply) : drawTree(reply, id)) output.print(line)
  return undefined
}

async function changeEdge(
  context: CommandContext,
  input: GraphInput & { id: string; other: string; json?: boolean },
): Promise<undefined> {
  const { output } = context
  const edge = { source_id: input.id, target_id: input.other, relation: input.relation }
  const reply = await withMemory(
    context,
    (memory): Promise<object> => (input.link === undefined ? memory.unlink(edge) : memory.link(edge)),
  )
  if (input.json) output.printJson(reply)
  else output.print(input.link === undefined ? 'They are no longer joined.' : `Joined: ${input.relation}.`)
}

/** One line for each edge: `Ruth has the key ─ keeps → The spare key …` */
function drawEdges({ nodes, edges }: GraphReply): string[] {
  const texts = new Map(nodes.map((node) => [node.id, describeNode(node)]))
  const textOf = (id: string) => texts.get(id) ?? id
  return edges.map((edge) => `${textOf(edge.source_id)} ─ ${edge.relation} → ${textOf(edge.target_id)}`)
}

/** Each memory once, under the one that it was first reached from. */
export function drawTree({ nodes, edges }: GraphReply, start: string): string[] {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const seen = new Set([start])
  const root = byId.get(start)
  const children = new Map<string, { id: string; relation: string; isForward: boolean }[]>()
  for (const at of seen) {
    const found: { id: string; relation: string; isForward: boolean }[] = []
    for (const { source_id: source, target_id: target, relation } of edges) {
      if (source !== at && target !== at) continue
      const id = source === at ? target : source
      if (seen.has(id) || !byId.has(id)) continue
      seen.add(id)
      found.push({ id, relation, isForward: source === at })
    }
    children.set(at, found)
  }
  return [root ? describeNode(root) : start, ...branches(start, '')]

  function branches(id: string, indent: string): string[] {
    const below = children.get(id) ?? []
    return below.flatMap((child, index) => {
      const isLast = index === below.length - 1
      const node = byId.get(child.id)
      const way = child.isForward ? `${child.relation} →` : `← ${child.relation}`
      const line = `${indent}${isLast ? '└─' : '├─'} ${way} ${node ? describeNode(node) : child.id}`
      return [line, ...branches(child.id, `${indent}${isLast ? '   ' : '│  '}`)]
    })
  }
}

function describeNode({ id, kind, title, text }: GraphReply['nodes'][number]): string {
  return `${kind}  ${shortText({ title, content: text })}  [memory:${id}]`
}
