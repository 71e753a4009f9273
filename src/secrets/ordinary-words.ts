/**
 * What this program writes itself where a reader later looks for exactly that: kinds, states, roles. Somebody's password
 * may be `assistant`; taking that out of what is stored would leave rows that nobody can read.
 */
const ownWords = `
  approval_request approved archived assistant at-least-once at-most-once available blockquote building callback
  cancelled command_line commitment compacted compaction completed confirmed conflict connected context_warned
  context_warning contract daemon_id date-time delivered delivers_since developer directory disabled document embedding entities
  environment expanding extracted failures finished forbidden forgotten function function_call function_call_output
  heartbeat idempotent image_url imported in_progress input_audio input_file input_image input_text internal
  interrupted json_object json_schema last_input_tokens last_seq listening long_term markdown max_tokens mediaType
  memory_recalled messageId message_processed message_received model_failed model_notified model_responded narrative
  notAfter not_found on_demand operational output_text paused_until provider question questionId rate_limited reaction reasoning
  received_at repeated_failure repetition replaced reserved response retry_wait round_limit scheduled searching
  secret_request semi_stable service_failed session_changed session_events session_holders session_id session_snapshots session_views
  sessions short_term sign_in starting stop_requested strikethrough structured subagent succeeded telegram text_delta
  text_link thinking thinking_delta timed_out tool_call tool_calls tool_finished tool_progress tool_result tool_start
  tool_started tool_use turn_end turn_ended turn_start turn_started untrusted updated_at wantsReply workspace`

/** What people write where a key is asked for and none is needed: as secrets, they would be taken out of every talk about them. */
const placeholders = `
  anything changeme dummy-key localhost lm-studio lmstudio no-key-needed no-key-required none-needed not-needed
  not-required password placeholder sk-no-key-required your-api-key`

/** Whether a text is one of them or a part of one. */
export function isOrdinaryWord(text: string): boolean {
  return ownWords.includes(text) || placeholders.includes(text)
}
