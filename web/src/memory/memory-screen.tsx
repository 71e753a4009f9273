import { useState } from 'react'
import type { ChangeReply } from '../../../src/protocol/memory.ts'
import { useAnswer } from '../api/call.ts'
import { Button } from '../components/controls.tsx'
import { Empty, Failure } from '../components/feedback.tsx'
import { SelectField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { Screen, Section } from '../components/layout.tsx'
import { Tabs } from '../components/tabs.tsx'
import { go, usePlace } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { CommitmentsTab } from './commitments.tsx'
import { AddNote, useCorrections } from './corrections.tsx'
import { FactsTab } from './facts.tsx'
import { GraphTab } from './graph-tab.tsx'
import {
  byDay,
  formatLongDay,
  LoadMore,
  MemoryListItem,
  setQuery,
  showDay,
  showMoment,
  shownContent,
  startOfDayIso,
  useMemoryPages,
} from './memory-list.tsx'
import { OneMemory } from './one-memory.tsx'
import { SearchTab } from './search-tab.tsx'
import { StoreTab } from './storage-tab.tsx'

/** Changed and forgotten memories, with an undo. */
export function ChangeList({ changes, onUndone }: { changes: readonly ChangeReply[]; onUndone(): void }) {
  const { undo } = useCorrections()
  const [busy, setBusy] = useState<string>()

  async function takeBack(id: string): Promise<void> {
    setBusy(id)
    if (await undo(id)) onUndone()
    setBusy(undefined)
  }

  return (
    <Section title={t.memory.history}>
      <ul>
        {changes.map(({ id, action, made_by, at, undo_until, before }) => (
          <li key={id} className="flex items-start gap-3 border-b border-line py-2.5 last:border-b-0">
            <div className="min-w-0 flex-1">
              <p dir="auto" className="line-clamp-2">
                {before.title ?? shownContent(before)}
              </p>
              <p className="text-xs text-soft">
                {t.memory.changeOf({
                  change: action === 'forgotten' ? t.memory.forgotten : t.memory.changed,
                  author: made_by === 'user' ? t.memory.you : t.common.familiar,
                  at: showMoment(at),
                  until: showDay(undo_until),
                })}
              </p>
            </div>
            <Button
              size="small"
              isBusy={busy === id}
              aria-label={t.memory.undo(before.title ?? before.content.slice(0, 60))}
              onClick={() => void takeBack(id)}
            >
              <Icon name="undo" size={14} /> {t.common.undo}
            </Button>
          </li>
        ))}
      </ul>
    </Section>
  )
}

function ChangesTab() {
  const answer = useAnswer('memories.changes', { limit: 500 })
  if (answer.error) return <Failure error={answer.error} onRetry={answer.refresh} />
  if (!answer.data) return null
  const { changes } = answer.data
  if (changes.length === 0) {
    return <Empty title={t.memory.noChanges}>{t.memory.editedForgottenMemoriesStay}</Empty>
  }
  return <ChangeList changes={changes} onUndone={answer.refresh} />
}

const spans = [
  { value: '', label: t.memory.today },
  { value: 'week', label: t.memory.last7Days },
  { value: 'all', label: t.memory.allUnreviewed },
]

/** Memories that Familiar learned by itself, to accept or forget. */
function ReviewTab() {
  const { query } = usePlace()
  const span = query.get('since') ?? ''
  const from = span === 'all' ? undefined : startOfDayIso(span === 'week' ? 6 : 0)
  const pages = useMemoryPages({ source: 'extracted', passages: false, from })
  const { keep, forget } = useCorrections()

  async function decide(id: string, change: typeof keep): Promise<void> {
    if (await change(id, pages.refresh)) pages.remove(id)
  }

  return (
    <>
      <div className="mb-3 flex flex-wrap items-end justify-between gap-3">
        <p className="max-w-xl text-sm text-soft">{t.memory.memoriesFamiliarLearnedFrom}</p>
        <SelectField
          label={t.memory.since}
          isLabelHidden
          className="w-56"
          choices={spans}
          value={span}
          onChange={(value) => setQuery(query, { since: value })}
        />
      </div>
      {pages.error && <Failure error={pages.error} onRetry={pages.refresh} />}
      {pages.memories.length === 0 && !pages.isLoading && !pages.error && (
        <Empty title={span === '' ? t.memory.nothingNewToday : t.memory.nothingToReview}>
          {t.memory.afterConversationFamiliarSaves}
        </Empty>
      )}
      <ul aria-label={t.memory.toReview}>
        {pages.memories.map((memory) => {
          const name = shownContent(memory).slice(0, 60)
          return (
            <MemoryListItem key={memory.id} memory={memory}>
              <div className="mt-2 flex gap-2">
                <Button size="small" aria-label={t.memory.accept(name)} onClick={() => void decide(memory.id, keep)}>
                  <Icon name="check" size={14} /> {t.memory.acceptTitle}
                </Button>
                <Button
                  size="small"
                  kind="quiet"
                  aria-label={t.memory.reject(name)}
                  onClick={() => void decide(memory.id, forget)}
                >
                  <Icon name="close" size={14} /> {t.memory.rejectTitle}
                </Button>
              </div>
            </MemoryListItem>
          )
        })}
      </ul>
      {pages.hasMore && <LoadMore isLoading={pages.isLoading} onMore={pages.more} />}
    </>
  )
}

function TimelineTab() {
  const { query } = usePlace()
  const withPassages = query.get('passages') === 'true'
  const pages = useMemoryPages({ passages: withPassages })
  return (
    <>
      <label className="mb-3 flex min-h-9 items-center gap-2 text-sm">
        <input
          type="checkbox"
          checked={withPassages}
          onChange={(event) => setQuery(query, { passages: event.target.checked ? 'true' : '' })}
        />
        {t.memory.includePassagesConversationsFiles}
      </label>
      {pages.error && <Failure error={pages.error} onRetry={pages.refresh} />}
      {pages.memories.length === 0 && !pages.isLoading && !pages.error && (
        <Empty title={t.memory.noMemoriesYet}>{t.memory.whatTellFamiliarWhat}</Empty>
      )}
      {byDay(pages.memories).map(({ key, memories }) => (
        <section key={key} className="mb-6">
          <h2 className="sticky top-0 z-10 bg-ground py-1.5 text-sm font-semibold">
            {formatLongDay(memories[0]?.created_at ?? key)}
          </h2>
          <ul className="border-s-2 border-line ps-4">
            {memories.map((memory) => (
              <MemoryListItem key={memory.id} memory={memory} showsHour />
            ))}
          </ul>
        </section>
      ))}
      {pages.hasMore && <LoadMore isLoading={pages.isLoading} onMore={pages.more} />}
    </>
  )
}

const tabs = [
  { name: 'search', label: t.common.search, content: <SearchTab /> },
  { name: 'learnt', label: t.memory.toReview, content: <ReviewTab /> },
  { name: 'facts', label: t.memory.facts, content: <FactsTab /> },
  { name: 'commitments', label: t.memory.commitments, content: <CommitmentsTab /> },
  { name: 'timeline', label: t.common.timeline, content: <TimelineTab /> },
  { name: 'graph', label: t.memory.graph, content: <GraphTab /> },
  { name: 'changes', label: t.memory.history, content: <ChangesTab /> },
  { name: 'store', label: t.memory.storage, content: <StoreTab /> },
]

/** `/memory/<id>` is one memory; `/memory` all of them, in the view that `?tab=` names. */
export function MemoryScreen() {
  const { path, query } = usePlace()
  const id = path.startsWith('/memory/') ? decoded(path.slice('/memory/'.length)) : ''
  if (id !== '') return <OneMemory key={id} id={id} />
  const asked = query.get('tab')
  const tab = tabs.some(({ name }) => name === asked) ? (asked ?? 'search') : 'search'
  return (
    <Screen title={t.common.memory} intro={t.memory.everythingFamiliarKnowsAbout} actions={<AddNote />}>
      <Tabs
        label={t.common.memory}
        tabs={tabs}
        value={tab}
        onChange={(name) => go(name === 'search' ? '/memory' : `/memory?tab=${name}`)}
      />
    </Screen>
  )
}

/** A citation is as good as the id in it. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part).replace(/^memory:/, '')
  } catch {
    return part
  }
}
