import { useMemo, useState } from 'react'
import type { GraphReply } from '../../../../src/protocol/fact-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { Empty, Failure } from '../../components/notice.tsx'
import { Link } from '../../shell/link.tsx'
import { usePlace } from '../../shell/router.ts'
import { setQuery } from '../set-query.ts'
import { type Kind, kindNames } from '../words.ts'
import { kindColours } from './draw-graph.ts'
import { type Graph, joinedTo, toGraph } from './graph.ts'
import { GraphCanvas } from './graph-canvas.tsx'

const mostListed = 100

/** How memories belong together: as a picture, and beside it as a list. */
export function GraphTab() {
  const { query } = usePlace()
  const around = query.get('around')
  const answer = useAnswer<GraphReply>('/memories/graph', {
    query: around ? { ids: around, depth: 2, limit: 300 } : { limit: 5_000 },
  })
  const graph = useMemo(() => answer.data && toGraph(answer.data), [answer.data])
  const found = graph?.ids.indexOf(query.get('node') ?? around ?? '') ?? -1
  const chosen = found < 0 ? undefined : found
  const choose = (node: number | undefined) =>
    setQuery(query, { node: node === undefined ? '' : (graph?.ids[node] ?? '') })

  if (answer.error) return <Failure error={answer.error} onRetry={answer.refresh} />
  if (!graph) return <p className="breathing text-soft">One moment …</p>
  if (graph.ids.length === 0) {
    return (
      <Empty title="Nothing is joined yet">
        Familiar joins memories that belong together as it learns from conversations: a fact to the episode that it was
        told in, a promise to whom it was made.
      </Empty>
    )
  }
  return (
    <>
      <div className="mb-2 flex flex-wrap items-center justify-between gap-2 text-sm text-soft">
        <Legend graph={graph} />
        {around && (
          <Button size="small" onClick={() => setQuery(query, { around: '', node: around })}>
            Show the whole graph
          </Button>
        )}
      </div>
      <div className="grid grid-cols-1 gap-4 lg:grid-cols-[minmax(0,1fr)_16rem]">
        <div className="h-[min(55vh,36rem)] min-h-72 min-w-0 rounded-xl border border-line">
          <GraphCanvas graph={graph} chosen={chosen} onChoose={choose} />
        </div>
        <GraphList graph={graph} chosen={chosen} onChoose={choose} />
      </div>
    </>
  )
}

function Legend({ graph }: { graph: Graph }) {
  const kinds = [...new Set(graph.kinds)].sort()
  return (
    <ul className="flex flex-wrap gap-x-4 gap-y-1">
      {kinds.map((kind) => (
        <li key={kind} className="flex items-center gap-1.5">
          <Dot kind={kind} /> {graph.kinds.filter((own) => own === kind).length} × {kindNames[kind]}
        </li>
      ))}
    </ul>
  )
}

function Dot({ kind }: { kind: Kind }) {
  return (
    <svg viewBox="0 0 10 10" className="size-2.5 shrink-0" aria-hidden="true">
      <circle cx={5} cy={5} r={5} fill={`var(${kindColours[kind]})`} />
    </svg>
  )
}

/** The chosen one with what it is joined to, or all of them to choose from. */
function GraphList(props: { graph: Graph; chosen: number | undefined; onChoose(node: number | undefined): void }) {
  const { graph, chosen, onChoose } = props
  const [words, setWords] = useState('')
  const wanted = words.toLowerCase()
  const nodes =
    chosen === undefined
      ? [...graph.labels.keys()]
          .filter((node) => graph.labels[node]?.toLowerCase().includes(wanted))
          .slice(0, mostListed)
      : joinedTo(graph, chosen)
  return (
    <div className="flex max-h-[min(55vh,36rem)] min-h-0 flex-col">
      {chosen === undefined ? (
        <TextField
          label="Find in the graph"
          isLabelHidden
          type="search"
          placeholder="Find in the graph"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
      ) : (
        <div className="text-sm" aria-live="polite">
          <p className="line-clamp-6 font-medium">{graph.labels[chosen]}</p>
          <p className="mt-1 flex gap-3">
            <Link href={`/memory/${encodeURIComponent(graph.ids[chosen] ?? '')}`} className="text-accent underline">
              Open
            </Link>
            <button type="button" className="text-soft underline" onClick={() => onChoose(undefined)}>
              All nodes
            </button>
          </p>
          <p className="mt-2 text-xs text-soft">Joined to {nodes.length}:</p>
        </div>
      )}
      <ul className="mt-2 min-h-0 flex-1 overflow-y-auto text-sm" aria-label="Nodes">
        {nodes.map((node) => (
          <li key={graph.ids[node]}>
            <button
              type="button"
              className="flex min-h-8 w-full items-center gap-2 rounded-lg px-2 text-start hover:bg-sunken"
              onClick={() => onChoose(node)}
            >
              <Dot kind={graph.kinds[node] ?? 'note'} />
              <span className="truncate">{graph.labels[node]}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
