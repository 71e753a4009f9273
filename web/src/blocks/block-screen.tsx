import { useState } from 'react'
import type { PinsReply } from '../../../src/protocol/asset-api.ts'
import { ApiError } from '../api/ask.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Button, IconButton } from '../components/button.tsx'
import { Icon } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { Failure, Notice } from '../components/notice.tsx'
import { Screen } from '../components/screen.tsx'
import { Tabs } from '../components/tabs.tsx'
import { go, usePlace } from '../shell/router.ts'
import { useWho } from '../shell/who.ts'
import { BlockEditor } from './block-editor.tsx'
import { placeOf } from './block-label.ts'
import { CompactDialog } from './compact-dialog.tsx'
import { DeletedBlock } from './deleted-block.tsx'
import { RenameDialog } from './rename-dialog.tsx'
import { useBlock } from './use-block.ts'
import { useBlockActions } from './use-block-actions.ts'
import { VersionsView } from './versions-view.tsx'

/** One block: `?tab=versions&version=3` shows what changed since then. */
export function BlockScreen({ label }: { label: string }) {
  const { query } = usePlace()
  const canWrite = useWho().scope === 'owner'
  const { block, error, refresh, put } = useBlock(label)
  const pins = useAnswer<PinsReply>('/pins')
  const pin = pins.data?.pins.find((one) => one.label === label)
  const { remove, togglePin } = useBlockActions(label, { pin, onPinned: pins.refresh })
  const [open, setOpen] = useState<'rename' | 'compact'>()
  const isGone = error instanceof ApiError && error.status === 404
  const tab = query.get('tab') === 'versions' ? 'versions' : 'edit'

  return (
    <Screen
      title={label}
      back={{ href: '/blocks', label: 'All blocks' }}
      actions={
        canWrite &&
        block && (
          <>
            <Button aria-pressed={pin !== undefined} onClick={() => void togglePin()}>
              <Icon name="pin" size={16} /> {pin ? 'Unpin' : 'Pin'}
            </Button>
            <Button onClick={() => setOpen('compact')}>Compact …</Button>
            <Menu
              trigger={
                <IconButton label={`More about ${label}`}>
                  <Icon name="more" />
                </IconButton>
              }
              items={[
                { label: 'Rename', icon: 'edit', onSelect: () => setOpen('rename') },
                { label: 'Delete', icon: 'trash', isDangerous: true, onSelect: () => void remove(block.etag) },
              ]}
            />
          </>
        )
      }
    >
      <p className="-mt-3 mb-4 flex flex-wrap gap-x-3 text-sm text-soft">
        {block && <span>version {block.version}</span>}
        {block && <span>changed {new Date(block.modifiedAt).toLocaleString()}</span>}
        {pin && (
          <span>
            number {pin.position} in the prompt, {pin.tokens.toLocaleString()} tokens
          </span>
        )}
      </p>
      {block?.trust === 'untrusted' && (
        <div className="mb-4">
          <Notice kind="warning">
            It holds words of others, so Familiar takes nothing in it as your word. Once you have read it and save it
            yourself, it is yours.
          </Notice>
        </div>
      )}
      {isGone ? (
        <DeletedBlock label={label} onRestored={refresh} />
      ) : (
        error && <Failure error={error} onRetry={refresh} />
      )}
      {block && (
        <Tabs
          label={label}
          value={tab}
          onChange={(name) => go(name === 'edit' ? placeOf(label) : `${placeOf(label)}?tab=${name}`)}
          tabs={[
            {
              name: 'edit',
              label: 'Text',
              content: (
                <BlockEditor label={label} block={block} canWrite={canWrite} onSaved={put} onPins={pins.refresh} />
              ),
            },
            {
              name: 'versions',
              label: 'Versions',
              content: <VersionsView label={label} block={block} canWrite={canWrite} onChanged={refresh} />,
            },
          ]}
        />
      )}
      {block && open === 'compact' && (
        <CompactDialog
          label={label}
          before={block.content}
          onClose={() => setOpen(undefined)}
          onDone={() => {
            refresh()
            pins.refresh()
          }}
        />
      )}
      {block && open === 'rename' && (
        <RenameDialog label={label} block={block} pin={pin} onClose={() => setOpen(undefined)} />
      )}
    </Screen>
  )
}
