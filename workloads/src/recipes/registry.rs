//! The registry of recipes.

/// Passes all recipes to the macro `$then`. A new recipe is a file and an entry here. The entry has its kind, the sound
/// recipe that it is or derives from, its name, its form, and one line about it. After *but* comes its file in
/// `broken/`, whose changed steps have its kind's name.
macro_rules! recipes {
    ($then:ident) => {
        $then! {
            PredecessorWatch: predecessor_watch::PredecessorWatch,
                "predecessor-watch", Queue, "ephemeral-sequential, watch only the next lower znode";
            Naive: naive::Naive,
                "naive", Queue, "ephemeral-sequential, everyone watches the lowest znode";
            LockRace: lock_race::LockRace,
                "lock-race", Lock, "one lock znode, everyone watches it and races to create it";
            PollRace: poll_race::PollRace,
                "poll-race", Lock, "one lock znode, everyone tries to create it at every interval";
            AbandonsContender: predecessor_watch::PredecessorWatch but abandons_contender,
                "broken:abandons-contender", Queue, "gives a try up after T, and cleans up after it once";
            AdoptsClosingSession: predecessor_watch::PredecessorWatch but adopts_closing_session,
                "broken:adopts-closing-session", Queue, "takes what bears its guid for its own, whoever owns it";
            AnnouncesItself: predecessor_watch::PredecessorWatch but announces_itself,
                "broken:announces-itself", Queue, "writes into its znode that it leads, which wakes who watches that";
            BreadcrumbRetry: lock_race::LockRace but breadcrumb_retry,
                "broken:breadcrumb-retry", Lock, "repeats a write of the breadcrumb whose answer was lost";
            CancelBeforeFlag: predecessor_watch::PredecessorWatch but cancel_before_flag,
                "broken:cancel-before-flag", Queue,
                "does not hear what happens between the owner check and the grant";
            ExistsOnVanished: predecessor_watch::PredecessorWatch but exists_on_vanished,
                "broken:exists-on-vanished", Queue,
                "watches its predecessor with an exists, which leaves watches behind";
            ForgetsSessionEnd: predecessor_watch::PredecessorWatch but forgets_session_end,
                "broken:forgets-session-end", Queue,
                "takes the end of its session during a create for a lost connection";
            GivesUpAfterPartition: predecessor_watch::PredecessorWatch but gives_up_after_partition,
                "broken:gives-up-after-partition", Queue, "leaves for good when it was cut off while it waited";
            GuardsByTimer: predecessor_watch::PredecessorWatch but guards_by_timer,
                "broken:guards-by-timer", Queue, "looks at the queue 2 s late, one time of five that it is woken";
            HangsWhenWoken: predecessor_watch::PredecessorWatch but hangs_when_woken,
                "broken:hangs-when-woken", Queue, "does nothing any more once its watch has fired";
            IgnoresSessionLoss: predecessor_watch::PredecessorWatch but ignores_session_loss,
                "broken:ignores-session-loss", Queue, "goes on believing whatever becomes of its session";
            InterleavedReconnects: predecessor_watch::PredecessorWatch but interleaved_reconnects,
                "broken:interleaved-reconnects", Queue,
                "decides on one reconnect and begins anew on the next, at the same time";
            LeadsByOldZnode: predecessor_watch::PredecessorWatch but leads_by_old_znode,
                "broken:leads-by-old-znode", Queue, "leads by the znode of its session before, and does not watch it";
            LeaseNotRenewed: predecessor_watch::PredecessorWatch but lease_not_renewed,
                "broken:lease-not-renewed", Queue, "gives the lead up when a lease of its own is over";
            LeavesBeforeItStops: predecessor_watch::PredecessorWatch but leaves_before_it_stops,
                "broken:leaves-before-it-stops", Queue, "gives its znode back before it stops believing";
            LeavesOnFailedRelease: predecessor_watch::PredecessorWatch but leaves_on_failed_release,
                "broken:leaves-on-failed-release", Queue, "takes its znode for gone when its deletion failed";
            LockByName: lock_race::LockRace but lock_by_name,
                "broken:lock-by-name", Lock, "takes a lock that bears its name for its own, whoever owns it";
            LooksNowAndThen: predecessor_watch::PredecessorWatch but looks_now_and_then,
                "broken:looks-now-and-then", Queue, "looks at the queue every 300 ms, and watches nothing";
            MissesNowAndThen: predecessor_watch::PredecessorWatch but misses_now_and_then,
                "broken:misses-now-and-then", Queue, "does nothing any more, one time of five that it is woken";
            NoGuid: predecessor_watch::PredecessorWatch but no_guid,
                "broken:no-guid", Queue, "creates again when the answer to a create was lost";
            NoOwnCheck: predecessor_watch::PredecessorWatch but no_own_check,
                "broken:no-own-check", Queue, "never looks whether its own znode is there";
            NoRecheckAfterWait: predecessor_watch::PredecessorWatch but no_recheck_after_wait,
                "broken:no-recheck-after-wait", Queue, "leads when the end of its own session wakes it";
            NoRelist: predecessor_watch::PredecessorWatch but no_relist,
                "broken:no-relist", Queue, "leads when its predecessor goes, without listing again";
            ReadsEverybody: predecessor_watch::PredecessorWatch but reads_everybody,
                "broken:reads-everybody", Queue, "reads every candidate's znode whenever it is woken";
            RecreatesAfterClose: predecessor_watch::PredecessorWatch but recreates_after_close,
                "broken:recreates-after-close", Queue,
                "makes its znode anew when it is told to go at the wrong moment";
            ReleasesUnderWrite: predecessor_watch::PredecessorWatch but releases_under_write,
                "broken:releases-under-write", Queue, "gives its znode back without waiting for the answer to its last write";
            ResetsInsteadOfRelisting: predecessor_watch::PredecessorWatch but resets_instead_of_relisting,
                "broken:resets-instead-of-relisting", Queue,
                "gives its place up when its predecessor is gone before it is watched";
            SequenceAsToken: predecessor_watch::PredecessorWatch but sequence_as_token,
                "broken:sequence-as-token", Queue, "takes the sequence number for a fencing token";
            SilentWatchEnd: predecessor_watch::PredecessorWatch but silent_watch_end,
                "broken:silent-watch-end", Queue, "hears of its end by the watch on its own znode alone";
            SleepsThroughNotification: predecessor_watch::PredecessorWatch but sleeps_through_notification,
                "broken:sleeps-through-notification", Queue, "looks at the queue 3 s after its watch has fired";
            SlowStepDown: predecessor_watch::PredecessorWatch but slow_step_down,
                "broken:slow-step-down", Queue, "needs longer than T to step down";
            SortsAsText: predecessor_watch::PredecessorWatch but sorts_as_text,
                "broken:sorts-as-text", Queue, "sorts the sequence numbers as text";
            TimerFromSuspended: predecessor_watch::PredecessorWatch but timer_from_suspended,
                "broken:timer-from-suspended", Queue,
                "steps down a whole T after it saw the loss of its connection";
            TrustsNumbers: predecessor_watch::PredecessorWatch but trusts_numbers,
                "broken:trusts-numbers", Queue, "queues by number where the counter gives the same one again";
            TrustsWatches: predecessor_watch::PredecessorWatch but trusts_watches,
                "broken:trusts-watches", Queue, "does not list again after a reconnect";
            WakesEverybody: predecessor_watch::PredecessorWatch but wakes_everybody,
                "broken:wakes-everybody", Queue, "watches the lowest znode, and promises to wake one";
            WallClockTimer: predecessor_watch::PredecessorWatch but wall_clock_timer,
                "broken:wall-clock-timer", Queue, "takes the time of its step-down policy by the wall clock";
            WatchesChildren: predecessor_watch::PredecessorWatch but watches_children,
                "broken:watches-children", Queue, "is woken by whoever comes and goes";
            WokenTwice: lock_race::LockRace but woken_twice,
                "broken:woken-twice", Lock, "is woken by the lock's creation too";
            WritesAfterRevoke: predecessor_watch::PredecessorWatch but writes_after_revoke,
                "broken:writes-after-revoke", Queue, "works on for a while after it has said that its lead is over";
            WritesBeforeGrant: predecessor_watch::PredecessorWatch but writes_before_grant,
                "broken:writes-before-grant", Queue, "begins to work before its znode is proven to be its own";
        }
    };
}

pub(super) use recipes;
