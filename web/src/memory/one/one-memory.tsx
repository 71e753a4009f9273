import { useState } from 'react'
import type { MemoryDetailReply } from '../../../../src/protocol/memory-api.ts'
import { ApiError } from '../../api/ask.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Button } from '../../components/button.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Facts } from '../../components/facts.tsx'
import { Icon } from '../../components/icon.tsx'
import { Empty, Failure, Notice } from '../../components/notice.tsx'
import { Panel, Screen } from '../../components/screen.tsx'
import { Link } from '../../shell/link.tsx'
import { ChangeList } from '../change-list.tsx'
import { FactHistory } from '../facts/fact-history.tsx'
import { UntrustedMark } from '../untrusted-mark.tsx'
import { useCorrections } from '../use-corrections.ts'
import { kindNames, shownContent } from '../words.ts'
import { DecayView } from './decay-view.tsx'
import { detailsOf } from './details-of.tsx'
import { EditMemory } from './edit-memory.tsx'
import { Neighbours } from './neighbours.tsx'

export function OneMemory({ id }: { id: string }) {
  const answer = useAnswer<MemoryDetailReply>(`/memories/${encodeURIComponent(id)}`)
  const { data, error, refresh } = answer
  const isGone = error instanceof ApiError && error.status === 404
  return (
    <Screen title={data ? kindNames[data.memory.kind] : 'Memory'} back={{ href: '/memory', label: 'All memories' }}>
      {isGone && (
        <Empty title="There is no such memory">
          It may have been forgotten. What was forgotten stands under “Changes” for 30 days and can come back.
        </Empty>
      )}
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
          This is history: something newer took its place.{' '}
          {memory.superseded_by && (
            <Link href={`/memory/${encodeURIComponent(memory.superseded_by)}`} className="text-accent underline">
              See what is true now
            </Link>
          )}
        </Notice>
      )}
      <Panel className="my-4">
        {memory.title && <p className="mb-1 font-semibold">{memory.title}</p>}
        <p className="whitespace-pre-wrap">{shownContent(memory)}</p>
        {memory.label === 'untrusted' && (
          <p className="mt-2 text-xs">
            <UntrustedMark />
          </p>
        )}
        <div className="mt-4 flex flex-wrap gap-2">
          {isLearnt && (
            <Button kind="main" onClick={() => void accept()}>
              <Icon name="check" size={16} /> That is so
            </Button>
          )}
          {!isFile && (
            <Button onClick={() => setIsEditing(true)}>
              <Icon name="edit" size={16} /> Edit
            </Button>
          )}
          <Button kind="danger" onClick={() => void remove()}>
            <Icon name="trash" size={16} /> Forget
          </Button>
          <CopyButton text={`[${memory.citation}]`} label="Copy the citation" />
        </div>
      </Panel>
      <div className="grid gap-x-8 lg:grid-cols-2">
        <div>
          <Panel className="mb-8">
            <Facts facts={detailsOf(detail)} />
          </Panel>
          {fact && <FactHistory fact={fact} values={history.facts} onChanged={onChanged} />}
        </div>
        <div>
          <DecayView memory={memory} decay={detail.decay} />
        </div>
      </div>
      <Neighbours id={memory.id} edges={detail.edges} />
      {history.changes.length > 0 && <ChangeList changes={history.changes} onUndone={onChanged} />}
      <EditMemory memory={memory} isOpen={isEditing} onClose={() => setIsEditing(false)} onChanged={onChanged} />
    </>
  )
}
