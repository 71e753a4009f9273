import { useEffect, useRef } from 'react'
import { Button } from '../components/button.tsx'

/** The end of a list that goes on: it is fetched when it comes into view, or by the button. */
export function LoadMore({ isLoading, onMore }: { isLoading: boolean; onMore(): void }) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = place.current
    if (!element || isLoading) return
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry?.isIntersecting) onMore()
      },
      { rootMargin: '600px' },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [isLoading, onMore])
  return (
    <div ref={place} className="py-4 text-center">
      <Button kind="quiet" isBusy={isLoading} onClick={onMore}>
        {isLoading ? 'One moment …' : 'Show more'}
      </Button>
    </div>
  )
}
