import { useEffect, useState } from 'react'
import { IconButton } from '../components/button.tsx'
import { Icon } from '../components/icon.tsx'
import { Markdown } from '../components/markdown.tsx'
import { Menu } from '../components/menu.tsx'
import { useToasts } from '../components/toast.tsx'
import { useWho } from '../shell/who.ts'
import type { PrivateEntry } from './private-entry.ts'
import { openPrivateStore, type PrivateStore } from './private-store.ts'

export function EntryCard({ entry, onEdit }: { entry: PrivateEntry; onEdit(): void }) {
  const { name } = useWho()
  const toasts = useToasts()
  const { title, content, category, priority, source, updatedAt } = entry

  async function change(action: (store: PrivateStore) => Promise<void>): Promise<boolean> {
    try {
      await action(await openPrivateStore(name))
      return true
    } catch (error) {
      toasts.failed(error)
      return false
    }
  }

  async function remove(): Promise<void> {
    if (!(await change((store) => store.remove(entry.id)))) return
    toasts.done(`Deleted: ${title}`, { label: 'Undo', run: () => void change((store) => store.put([entry])) })
  }

  return (
    <li className="rounded-xl border border-line bg-raised p-4">
      <div className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <h2 className="font-medium">{title}</h2>
          <p className="text-xs text-soft">
            {[
              category,
              `priority ${priority}`,
              source === 'ai' ? 'written by Familiar' : 'written by you',
              new Date(updatedAt).toLocaleDateString(),
            ].join(' · ')}
          </p>
        </div>
        <Menu
          trigger={
            <IconButton label={`More about ${title}`}>
              <Icon name="more" />
            </IconButton>
          }
          items={[
            { label: 'Edit', icon: 'edit', onSelect: onEdit },
            ...(source === 'ai'
              ? [
                  {
                    label: 'Make it mine',
                    icon: 'shield' as const,
                    onSelect: () => void change((store) => store.put([{ ...entry, source: 'user' }])),
                  },
                ]
              : []),
            { label: 'Delete', icon: 'trash', onSelect: () => void remove(), isDangerous: true },
          ]}
        />
      </div>
      <div
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        className="mt-2 max-h-60 overflow-y-auto"
      >
        <Markdown text={content} />
      </div>
      <ShareBox
        entry={entry}
        onChange={(isNowShared) => change((store) => store.put([{ ...entry, isShared: isNowShared }]))}
      />
    </li>
  )
}

function ShareBox({ entry, onChange }: { entry: PrivateEntry; onChange(isShared: boolean): Promise<boolean> }) {
  // Shown at once; the store is a moment behind.
  const [wanted, setWanted] = useState<boolean>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: what the store says counts.
  useEffect(() => setWanted(undefined), [entry])
  async function choose(isShared: boolean): Promise<void> {
    setWanted(isShared)
    if (!(await onChange(isShared))) setWanted(undefined)
  }
  return (
    <label className="mt-2 inline-flex min-h-9 items-center gap-2 text-sm">
      <input
        type="checkbox"
        className="size-4 accent-accent"
        aria-label={`Share with Familiar: ${entry.title}`}
        checked={wanted ?? entry.isShared}
        onChange={(event) => void choose(event.target.checked)}
      />
      Share with Familiar
    </label>
  )
}
