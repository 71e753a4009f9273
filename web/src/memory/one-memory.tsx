import { lazy, type ReactNode, Suspense, useState } from 'react'
import type { MemoryDetailReply } from '../../../src/protocol/memory.ts'
import { ApiError, type Reply, useAnswer } from '../api/call.ts'
import { Button, CopyButton } from '../components/controls.tsx'
import { Empty, Failure, Notice } from '../components/feedback.tsx'
import { Icon } from '../components/icon.tsx'
import { FieldList, Panel, Screen, Section } from '../components/layout.tsx'
import { Link } from '../shell/router.tsx'
import { formatList, formatPercent } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { useCorrections } from './corrections.tsx'
import { EditMemory } from './edit-memory.tsx'
import { FactHistory } from './facts.tsx'
import {
  memoryKindNames,
  retentionNames,
  showDay,
  showMoment,
  shownContent,
  sourceNames,
  UntrustedMark,
} from './memory-list.tsx'
import { ChangeList } from './memory-screen.tsx'

const DecayChart = lazy(async () => ({ default: (await import('./decay-chart.tsx')).DecayChart }))

function DecayView({ memory, decay }: Pick<MemoryDetailReply, 'memory' | 'decay'>) {
  const { use_count, used_at, tier, priority } = memory
  return (
    <Section title={t.memory.strength}>
      <Panel>
        <p className="mb-2 text-sm text-soft">
          <span className="text-lg font-semibold text-ink">{formatPercent(decay.strength)}</span>{' '}
          {t.memory.strengthStarted(Math.round(priority * 100), retentionNames[tier])}{' '}
          {use_count === 0 ? t.memory.notUsedYet : t.memory.usedLast(use_count, showMoment(used_at))}{' '}
          {decay.is_faded && t.memory.faded}
        </p>
        <Suspense fallback={<div className="h-40" />}>
          <DecayChart decay={decay} />
        </Suspense>
        <p className="text-xs text-soft">
          {decay.policy === 'time' ? t.memory.daysFromNow : t.memory.turnsFromNow} {t.memory.ifUnusedEachUse}
        </p>
      </Panel>
    </Section>
  )
}

const labelNames = {
  owner: t.memory.trustedWrote,
  internal: t.memory.writtenByFamiliar,
  untrusted: t.memory.untrustedSourceNeverFollowed,
}

/** All that is known about a memory beside its content. */
function detailsOf({ memory, fact, episode, commitment }: MemoryDetailReply): [string, ReactNode][] {
  const { file, session_id, turn_id, happened_from, happened_until } = memory
  return [
    [t.common.source, sourceNames[memory.source]],
    [t.memory.created, showMoment(memory.created_at)],
    [t.memory.author, memory.speaker === 'user' ? t.common.you : memory.speaker],
    [
      t.common.conversation,
      session_id && (
        <Link
          href={`/talk/${session_id}${turn_id ? `?turn=${encodeURIComponent(turn_id)}` : ''}`}
          className="text-accent underline underline-offset-4"
        >
          {turn_id ? t.memory.showTheTurn : t.memory.showTheConversation}
        </Link>
      ),
    ],
    [t.memory.file, file && t.memory.linesTo(file.file, file.first_line, file.last_line)],
    [t.memory.trust, labelNames[memory.label]],
    [t.common.category, memory.category],
    [t.memory.tags, formatList(memory.tags)],
    [
      t.memory.mentions,
      happened_from && [...new Set([happened_from, happened_until ?? happened_from].map(showDay))].join(' to '),
    ],
    [t.memory.retention, t.memory.priorityTier(retentionNames[memory.tier], Math.round(memory.priority * 100))],
    [t.memory.subject, fact?.entity],
    [t.memory.confidence, fact && formatPercent(fact.confidence)],
    [
      t.memory.valid,
      fact &&
        t.memory.sinceValidFrom(showDay(fact.valid_from), fact.valid_to ? t.memory.until(showDay(fact.valid_to)) : ''),
    ],
    [t.memory.decisions, episode?.decisions.join('; ')],
    [t.memory.topics, episode && formatList(episode.topics)],
    [t.memory.tone, episode?.tone],
    [t.common.state, commitment?.state],
    [t.memory.due, commitment?.deadline && showMoment(commitment.deadline)],
    [
      t.memory.id,
      <code key="id" className="font-mono text-xs">
        {memory.id}
      </code>,
    ],
  ]
}

/** The links of a memory. */
function LinkedMemories({ id, edges }: { id: string; edges: readonly Reply<'graph.link'>[] }) {
  const graph = useAnswer('graph.show', edges.length > 0 ? { ids: id, depth: 1, limit: 100 } : null)
  if (edges.length === 0) return null
  const nodes = new Map(graph.data?.nodes.map((node) => [node.id, node]))
  return (
    <Section
      title={t.memory.linkedMemories}
      actions={
        <Link
          href={`/memory?tab=graph&around=${encodeURIComponent(id)}`}
          className="text-sm text-accent underline-offset-4 hover:underline"
        >
          {t.memory.showGraph}
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
                {node && `${memoryKindNames[node.kind]}: `}
              </span>
              <Link href={`/memory/${encodeURIComponent(other)}`} className="underline-offset-4 hover:underline">
                <bdi>{node ? (node.title ?? node.text) : other}</bdi>
              </Link>
            </li>
          )
        })}
      </ul>
    </Section>
  )
}

export function OneMemory({ id }: { id: string }) {
  const answer = useAnswer('memories.show', { id })
  const { data, error, refresh } = answer
  const isGone = error instanceof ApiError && error.status === 404
  return (
    <Screen
      title={data ? memoryKindNames[data.memory.kind] : t.common.memory}
      back={{ href: '/memory', label: t.memory.allMemories }}
    >
      {isGone && <Empty title={t.memory.memoryNotFound}>{t.memory.mayForgottenForgottenMemories}</Empty>}
      {error && !isGone && <Failure error={error} onRetry={refresh} />}
      {data && !isGone && <Details detail={data} onChanged={refresh} />}
    </Screen>
  )
}

function Details({ detail, onChanged }: { detail: MemoryDetailReply; onChanged(): void }) {
  const { memory, fact, history } = detail
  const { forget, keep } = useCorrections()
  const [isEditing, setIsEditing] = useState(false)
  const isFile = memory.file !== null
  const isLearnt = memory.source === 'extracted' && memory.kind !== 'chunk'

  async function remove(): Promise<void> {
    if (await forget(memory.id, onChanged)) onChanged()
  }
  async function accept(): Promise<void> {
    if (await keep(memory.id, onChanged)) onChanged()
  }

  return (
    <>
      {memory.superseded_at && (
        <Notice>
          {t.memory.outdatedReplacedNewerValue}{' '}
          {memory.superseded_by && (
            <Link href={`/memory/${encodeURIComponent(memory.superseded_by)}`} className="text-accent underline">
              {t.memory.showCurrentValue}
            </Link>
          )}
        </Notice>
      )}
      <Panel className="my-4">
        {memory.title && <p className="mb-1 font-semibold">{memory.title}</p>}
        <p dir="auto" className="whitespace-pre-wrap">
          {shownContent(memory)}
        </p>
        {memory.label === 'untrusted' && (
          <p className="mt-2 text-xs">
            <UntrustedMark />
          </p>
        )}
        <div className="mt-4 flex flex-wrap gap-2">
          {isLearnt && (
            <Button kind="main" onClick={() => void accept()}>
              <Icon name="check" size={16} /> {t.memory.confirm}
            </Button>
          )}
          {!isFile && (
            <Button onClick={() => setIsEditing(true)}>
              <Icon name="edit" size={16} /> {t.common.edit}
            </Button>
          )}
          <Button kind="danger" onClick={() => void remove()}>
            <Icon name="trash" size={16} /> {t.memory.forget}
          </Button>
          <CopyButton text={`[${memory.citation}]`} label={t.memory.copyCitation} />
        </div>
      </Panel>
      <div className="grid grid-cols-1 gap-x-8 lg:grid-cols-2">
        <div>
          <Panel className="mb-8">
            <FieldList facts={detailsOf(detail)} />
          </Panel>
          {fact && <FactHistory fact={fact} values={history.facts} onChanged={onChanged} />}
        </div>
        <div>
          <DecayView memory={memory} decay={detail.decay} />
        </div>
      </div>
      <LinkedMemories id={memory.id} edges={detail.edges} />
      {history.changes.length > 0 && <ChangeList changes={history.changes} onUndone={onChanged} />}
      <EditMemory memory={memory} isOpen={isEditing} onClose={() => setIsEditing(false)} onChanged={onChanged} />
    </>
  )
}
