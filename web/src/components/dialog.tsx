import { Dialog as Primitive } from 'radix-ui'
import { type ReactNode, useInsertionEffect, useRef } from 'react'
import { IconButton } from './button.tsx'
import { Icon } from './icon.tsx'

/** A question or a form above the page. Escape and a click beside it close it; the focus goes back to where it was. */
export function Dialog(props: {
  isOpen: boolean
  onClose(): void
  title: string
  description?: string
  children: ReactNode
}) {
  const { isOpen, onClose, title, description, children } = props
  const opener = useRef<Element>(null)

  // Before anything in it takes the focus.
  useInsertionEffect(() => {
    if (isOpen) opener.current = document.activeElement
  }, [isOpen])

  /** What opened it may be gone, as an entry of a menu is: then the reader goes on at the content. */
  function giveFocusBack(event: Event): void {
    event.preventDefault()
    const target = opener.current?.isConnected ? opener.current : document.getElementById('main')
    if (target instanceof HTMLElement) target.focus()
  }

  return (
    <Primitive.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Primitive.Portal>
        {/* Not the primitive's own, which writes a style sheet into the page: the policy forbids that. */}
        <div aria-hidden="true" className="fixed inset-0 z-40 bg-black/40" />
        <Primitive.Content
          {...(description === undefined && { 'aria-describedby': undefined })}
          onCloseAutoFocus={giveFocusBack}
          className="fixed top-[8vh] left-1/2 z-50 max-h-[84vh] w-[min(36rem,calc(100vw-1.5rem))] -translate-x-1/2 overflow-y-auto rounded-2xl border border-line bg-raised p-5 shadow-xl"
        >
          <div className="mb-3 flex items-start justify-between gap-3">
            <div className="min-w-0">
              <Primitive.Title className="text-lg font-semibold">{title}</Primitive.Title>
              {description && (
                <Primitive.Description className="text-sm text-soft">{description}</Primitive.Description>
              )}
            </div>
            <Primitive.Close asChild>
              <IconButton label="Close">
                <Icon name="close" />
              </IconButton>
            </Primitive.Close>
          </div>
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  )
}
