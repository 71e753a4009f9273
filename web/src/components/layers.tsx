import { Dialog as DialogPrimitive, DropdownMenu } from 'radix-ui'
import { type FocusEvent, type ReactElement, type RefObject, useRef } from 'react'
import { t } from '../strings/strings.ts'
import { classes, IconButton, type MenuItem } from './controls.tsx'
import type { DialogProps } from './forms.tsx'
import { Icon } from './icon.tsx'

// Menus and dialogs, loaded after the first screen: see `Menu` and `Dialog`.

/** A menu that opens at once: it is drawn when its button is first pressed. */
export function MenuLayer(props: { trigger: ReactElement; items: readonly MenuItem[]; isByKey: boolean }) {
  const { trigger, items, isByKey } = props
  const isNew = useRef(true)

  /** A press of a key chooses the first item. The primitive has not seen the one that it was drawn for. */
  function chooseFirst({ target, currentTarget }: FocusEvent<HTMLElement>): void {
    if (!isByKey || !isNew.current || target !== currentTarget) return
    isNew.current = false
    currentTarget.querySelector<HTMLElement>('[role="menuitem"]:not([data-disabled])')?.focus()
  }

  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          onFocus={chooseFirst}
          className="z-50 min-w-44 rounded-xl border border-line bg-raised p-1 shadow-lg"
        >
          {items.map(({ label, icon, onSelect, isDangerous, isDisabled }) => (
            <DropdownMenu.Item
              key={label}
              disabled={isDisabled ?? false}
              onSelect={onSelect}
              className={classes(
                'flex min-h-9 items-center gap-2 rounded-lg px-2.5 text-sm outline-none data-[disabled]:opacity-40 data-[highlighted]:bg-sunken',
                isDangerous && 'text-bad',
              )}
            >
              {icon && <Icon name={icon} size={16} />}
              {label}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

/** `opener` is the element that had the focus before. */
export function DialogLayer(props: Omit<DialogProps, 'isOpen'> & { opener: RefObject<Element | null> }) {
  const { onClose, title, description, children, opener } = props

  /** The element that opened it may be gone, such as a menu item: then the focus goes to the content. */
  function giveFocusBack(event: Event): void {
    event.preventDefault()
    const { current } = opener
    const target = current?.isConnected && current !== document.body ? current : document.getElementById('main')
    if (target instanceof HTMLElement) target.focus()
  }

  return (
    <DialogPrimitive.Root open onOpenChange={(open) => !open && onClose()}>
      <DialogPrimitive.Portal>
        {/* Not the primitive's own, which writes a style sheet into the page: the policy forbids that. */}
        <div aria-hidden="true" className="fixed inset-0 z-40 bg-black/40" />
        <DialogPrimitive.Content
          {...(description === undefined && { 'aria-describedby': undefined })}
          onCloseAutoFocus={giveFocusBack}
          className="fixed inset-x-0 top-[8vh] z-50 mx-auto max-h-[84vh] w-[min(36rem,calc(100vw-1.5rem))] overflow-y-auto rounded-2xl border border-line bg-raised p-5 shadow-xl"
        >
          <div className="mb-3 flex items-start justify-between gap-3">
            <div className="min-w-0">
              <DialogPrimitive.Title className="text-lg font-semibold">{title}</DialogPrimitive.Title>
              {description && (
                <DialogPrimitive.Description className="text-sm text-soft">{description}</DialogPrimitive.Description>
              )}
            </div>
            <DialogPrimitive.Close asChild>
              <IconButton label={t.common.close}>
                <Icon name="close" />
              </IconButton>
            </DialogPrimitive.Close>
          </div>
          {children}
        </DialogPrimitive.Content>
      </DialogPrimitive.Portal>
    </DialogPrimitive.Root>
  )
}
