/* What a board says besides the sentences that come with it: the moments and counts of this page. */
import { counted, duration, when, whole } from "./wording.js";

export const quoted = (name) => (/\s/.test(name) ? `“${name}”` : name); // else nobody sees where a long name ends

// How far the evidence against a rival is on its way; it grows by factors, so the way is in logs.
export const way = (rival) => Math.max(0, Math.min(1, Math.log(Math.max(rival.e, 1e-300)) / Math.log(rival.needed)));
export const enough = (rival) => rival.e >= rival.needed;

// The sentences have no time of day in them, because only the reader's browser knows that.
export const since = (board) => (board.since && board.votes ? `Since ${when(board.since.at)}.` : "");

export function change({ from, to, alarm }) {
  if (!from) return `${quoted(to.name)} took the lead.`;
  if (!to) return `${quoted(from.name)} led no more, and nobody took its place.`;
  return `${quoted(to.name)} took the lead from ${quoted(from.name)}${alarm ? ", with an alarm" : ", without an alarm"}.`;
}

// Counts, each with what it means.
export function counts(board) {
  const { lateness: late, votes_a_voter: each } = board;
  return [
    ["Votes", whole(board.votes), "picks and ties that were written down in time"],
    ["Counted", whole(board.counted), "those that have been learned from"],
    ["Equal", whole(board.ties), "both were said to be equally good"],
    ["Skipped", whole(board.skips), "no answer was given"],
    ["Late", whole(board.late), "came after the pair had been given back; kept, not counted"],
    ["Not counted", whole(board.uncounted), "one voter's votes on one pair beyond a day's limit"],
    ["Voided", whole(board.voided), "taken out later by the owner"],
    ["Open now", whole(board.open), "pairs that somebody is looking at"],
    ["Waiting", whole(board.held), "votes that can still be undone, or wait for earlier ones"],
    ["Voters", whole(board.voters), each?.median ? `half of them gave at most ${counted(each.median, "vote")}; the most were ${whole(each.most)}` : ""],
    ["Time to answer", duration(late?.median), late?.p90 ? `half were faster than this; one in ten took longer than ${duration(late.p90)}` : ""],
  ];
}
