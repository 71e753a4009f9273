import { Component, type ReactNode } from 'react'
import { Button } from '../components/button.tsx'
import { Notice } from '../components/notice.tsx'
import { Screen } from '../components/screen.tsx'

/** A screen that fails does not take the page with it. Most often a newer Familiar has replaced the file that it needs. */
export class ScreenBoundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state = { error: undefined as Error | undefined }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    return (
      <Screen title="This screen cannot be shown">
        <Notice kind="error">{error.message}</Notice>
        <p className="my-4 text-soft">
          If Familiar was updated while this page was open, loading the page again helps. Nothing that was sent is lost.
        </p>
        <Button kind="main" onClick={() => location.reload()}>
          Load the page again
        </Button>
      </Screen>
    )
  }
}
