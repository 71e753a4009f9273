import type { EdgeReply, GraphReply } from '../../../../src/protocol/fact-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Failure } from '../../components/notice.tsx'
import { Section } from '../../components/screen.tsx'
import { Link } from '../../shell/link.tsx'
import { kindNames } from '../words.ts'

/** What a memory is joined to, and how. */
export function Neighbours({ id, edges }: { id: string; edges: readonly EdgeReply[] }) {
  const graph = useAnswer<GraphReply>(edges.length > 0 ? '/memories/graph' : null, {
    query: { ids: id, depth: 1, limit: 100 },
  })
  if (edges.length === 0) return null
  const nodes = new Map(graph.data?.nodes.map((node) => [node.id, node]))
  return (
    <Section
      title="Neighbours"
      actions={
        <Link
          href={`/memory?tab=graph&around=${encodeURIComponent(id)}`}
          className="text-sm text-accent underline-offset-4 hover:underline"
        >
          Show in the graph
        </Link>
      }
    >
      {graph.error && <Failure error={graph.error} onRetry={graph.refresh} />}
      <ul className="space-y-1.5 text-sm">
        {edges.map(({ source_id, target_id, relation }) => {
          const other = source_id === id ? target_id : source_id
          const node = nodes.get(other)
          return (
            <li key={`${source_id} ${target_id} ${relation}`}>
              <span className="text-soft">
                {source_id === id ? `${relation} → ` : `← ${relation} `}
                {node && `${kindNames[node.kind]}: `}
              </span>
              <Link href={`/memory/${encodeURIComponent(other)}`} className="underline-offset-4 hover:underline">
                {node ? (node.title ?? node.text) : other}
              </Link>
            </li>
          )
        })}
      </ul>
    </Section>
  )
}
