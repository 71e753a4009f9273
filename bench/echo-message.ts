import { echo, type Responder } from '../test/support/fake-model/start-fake-model.ts'

/**
 * Says what the user said and nothing of what Familiar puts before it. A reply that repeated the context would be kept,
 * recalled and repeated again, which no model does: the bench would measure its own echo.
 */
export const respond: Responder = ({ lastUserText }) =>
  echo({ lastUserText: lastUserText.replace(/^<context>[\s\S]*?<\/context>\s*/, '') })
