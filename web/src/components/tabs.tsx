import { Tabs as Primitive } from 'radix-ui'
import { type ReactNode, useEffect, useRef } from 'react'

export interface Tab {
  name: string
  label: string
  content: ReactNode
}

/** Tabs of a screen. Only the selected one is rendered. */
export function Tabs(props: { label: string; tabs: readonly Tab[]; value: string; onChange(name: string): void }) {
  const { label, tabs, onChange } = props
  // An old or mistyped address may name a tab that is not there.
  const value = tabs.some(({ name }) => name === props.value) ? props.value : tabs[0]?.name
  const list = useRef<HTMLDivElement>(null)

  // biome-ignore lint/correctness/useExhaustiveDependencies: on a narrow page the selected tab may be outside the view.
  useEffect(() => {
    list.current?.querySelector('[data-state="active"]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [value])

  return (
    <Primitive.Root value={value ?? ''} onValueChange={onChange}>
      <Primitive.List ref={list} aria-label={label} className="mb-4 flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map((tab) => (
          <Primitive.Trigger
            key={tab.name}
            value={tab.name}
            // The primitive focuses a pressed tab by script, which the browser takes for the keyboard.
            onPointerDown={({ currentTarget }) => currentTarget.setAttribute('data-pressed', '')}
            onKeyDown={({ currentTarget }) => currentTarget.removeAttribute('data-pressed')}
            onBlur={({ currentTarget }) => currentTarget.removeAttribute('data-pressed')}
            className="-mb-px data-pressed:outline-none shrink-0 -outline-offset-2 border-b-2 border-transparent px-3 py-2 text-sm font-medium text-soft hover:text-ink data-[state=active]:border-accent data-[state=active]:text-ink"
          >
            {tab.label}
          </Primitive.Trigger>
        ))}
      </Primitive.List>
      {tabs.map((tab) => (
        <Primitive.Content key={tab.name} value={tab.name} className="outline-none">
          {tab.content}
        </Primitive.Content>
      ))}
    </Primitive.Root>
  )
}
